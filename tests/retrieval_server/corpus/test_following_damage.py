"""A replica of whose snapshots somebody has damaged the files, or the directory that holds them."""

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
import structlog

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.snapshotting import Snapshotting
from tests.retrieval_server.corpus.support import change, parsed
from tests.retrieval_server.corpus.test_following import Replica, served

__all__ = ["served"]


def rewrite(path: Path, content: bytes) -> None:
    """Under the name of a file, which may have others, put another one."""
    path.unlink()
    path.write_bytes(content)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x55
    rewrite(path, bytes(content))


def segments(snapshot: Path) -> list[Path]:
    return sorted(path for path in (snapshot / "lexical").iterdir() if path.suffix in {".idx", ".store", ".term"})


def flip_a_letter_of_a_text(snapshot: Path) -> None:
    content = (snapshot / "corpus.sqlite").read_bytes()
    assert b"alpha 2" in content
    rewrite(snapshot / "corpus.sqlite", content.replace(b"alpha 2", b"alphb 2"))


def flip_all_segments(snapshot: Path) -> None:
    for path in segments(snapshot):
        flip(path)


def truncate_a_segment(snapshot: Path) -> None:
    path = segments(snapshot)[0]
    rewrite(path, path.read_bytes()[:10])


def pipe_for_a_segment(snapshot: Path) -> None:
    path = segments(snapshot)[0]
    path.unlink()
    os.mkfifo(path)


def lose_a_segment(snapshot: Path) -> None:
    segments(snapshot)[0].unlink()


def lose_the_state_of_the_index(snapshot: Path) -> None:
    (snapshot / "lexical.json").unlink()


def empty_the_digests(snapshot: Path) -> None:
    rewrite(snapshot / "digests.json", b"")


def lose_the_digests(snapshot: Path) -> None:
    (snapshot / "digests.json").unlink()


def forget_a_digest(snapshot: Path) -> None:
    digests = json.loads((snapshot / "digests.json").read_bytes())
    del digests["lexical.json"]
    rewrite(snapshot / "digests.json", json.dumps(digests).encode())


def lead_the_digests_out(snapshot: Path) -> None:
    digests = json.loads((snapshot / "digests.json").read_bytes())
    rewrite(snapshot / "digests.json", json.dumps(digests | {"../../secret": "0" * 64}).encode())


DAMAGES = [
    flip_a_letter_of_a_text,
    flip_all_segments,
    truncate_a_segment,
    pipe_for_a_segment,
    lose_a_segment,
    lose_the_state_of_the_index,
    empty_the_digests,
    lose_the_digests,
    forget_a_digest,
    lead_the_digests_out,
]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_of_a_damaged_snapshot_one_line_is_logged_and_the_last_good_one_is_served(
    served: Replica, tmp_path: Path, damage: Callable[[Path], None]
):
    await served.snapshot()
    await served.until(1)
    snapshot = await served.snapshot()
    shutil.copytree(snapshot, tmp_path / "whole")
    damage(snapshot)
    with structlog.testing.capture_logs() as logs:
        for _ in range(5):
            await served.following.catch_up()
    assert served.generation == 1
    assert [log["event"] for log in logs] == ["snapshot cannot be used until its files change"]
    assert str(snapshot) in logs[0]["problem"]
    assert str(snapshot) in served.replica.get("c").following_problem, "`client status` says it, too"
    assert served.directories() == ["c@1"], "nothing half copied is left"
    shutil.rmtree(snapshot)
    shutil.copytree(tmp_path / "whole", snapshot)
    await served.until(2)
    assert served.replica.get("c").following_problem == ""


async def test_files_of_another_collection_are_not_served_under_this_ones_name(served: Replica):
    mine = await served.snapshot()
    other = await served.primary.get_or_create("other")
    await other.write(Collection.apply, change(parsed("secret.md", "alpha secret")))
    made = await Snapshotting(served.primary, served.directory).create("other")
    for name in ("corpus.sqlite", "digests.json"):
        rewrite(mine / name, (served.directory / made.snapshot_id / name).read_bytes())
    for _ in range(3):
        await served.following.catch_up()
    assert served.replica.names() == ["other"]


async def test_what_the_maker_did_not_write_is_left_alone(served: Replica):
    snapshot = await served.snapshot()
    (snapshot / "lexical" / "more.idx").symlink_to("/dev/zero")
    (snapshot / "extra").mkdir()
    os.mkfifo(snapshot / "extra" / "pipe")
    os.mkfifo(snapshot / "dense.pipe")
    await served.until(1)
    copied = {path.name for path in served.replica.get("c").collection.directory.rglob("*")}
    assert not copied & {"more.idx", "extra", "pipe", "dense.pipe"}


def make_earlier(snapshot: Path) -> None:
    """Make of a snapshot one of a version that knew no digests."""
    (snapshot / "digests.json").unlink()
    about = json.loads((snapshot / "snapshot.json").read_text())
    del about["digests_sha256"]
    (snapshot / "snapshot.json").write_text(json.dumps(about))


async def test_a_snapshot_without_digests_is_of_an_earlier_version_and_is_served(served: Replica):
    make_earlier(await served.snapshot())
    await served.until(1)


async def test_one_snapshot_that_holds_nonsense_keeps_no_other_collection_from_being_followed(served: Replica):
    broken = await served.snapshot()
    make_earlier(broken)
    with closing(sqlite3.connect(broken / "corpus.sqlite", isolation_level=None)) as connection:
        connection.execute("UPDATE meta SET value = 'many' WHERE key = 'generation'")
    for name in ("a", "z"):
        await (await served.primary.get_or_create(name)).write(Collection.apply, change(parsed("1.md", "alpha")))
        await Snapshotting(served.primary, served.directory).create(name)
    await served.following.catch_up()
    assert served.replica.names() == ["a", "z"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "empty or damaged"),
        (b"[" * 100_000, "empty or damaged"),
        (b"{}", "too little"),
        (None, "No such file"),
    ],
)
async def test_a_description_that_says_nothing_is_told_once(served: Replica, content: bytes | None, problem: str):
    await served.snapshot()
    newer = await served.snapshot()
    (newer / "snapshot.json").unlink()
    if content is not None:
        (newer / "snapshot.json").write_bytes(content)
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            await served.following.catch_up()
    assert served.generation == 1
    [told] = [log for log in logs if log["event"] == "no usable snapshot"]
    assert told["path"] == str(newer)
    assert problem in told["problem"]


def open_paths() -> set[str]:
    paths = set()
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # it was that of the listing
            paths.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    return paths


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
async def test_a_description_that_is_a_pipe_or_a_directory_holds_up_nothing_and_leaves_nothing_open(
    served: Replica, make: Callable[[Path], None]
):
    await served.snapshot()
    newer = await served.snapshot()
    (newer / "snapshot.json").unlink()
    make(newer / "snapshot.json")
    await served.until(1)
    await served.following.catch_up()
    assert str(newer / "snapshot.json") not in open_paths()


async def test_a_later_version_may_say_more_of_a_snapshot(served: Replica):
    about = (await served.snapshot()) / "snapshot.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"more": [1]}))
    await served.until(1)


async def test_a_directory_that_is_not_there_is_told_once_and_so_is_that_it_is_back(served: Replica):
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            await served.following.catch_up()
    assert [log["event"] for log in logs] == ["snapshots cannot be listed yet"]
    assert str(served.directory) in logs[0]["problem"]
    await served.snapshot()
    await served.until(1)
    away = served.directory.with_name("away")
    served.directory.rename(away)
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            await served.following.catch_up()
        away.rename(served.directory)
        for _ in range(3):
            await served.following.catch_up()
    assert [log["event"] for log in logs] == ["snapshots cannot be listed yet", "snapshots can be listed again"]
    assert served.generation == 1


async def test_a_snapshot_of_a_clock_that_was_set_back_is_newer_all_the_same(
    served: Replica, monkeypatch: pytest.MonkeyPatch
):
    await served.snapshot()
    await served.until(1)
    now_ns = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now_ns - 3 * 3600 * 10**9)
    await served.snapshot()
    await served.until(2)
    await served.snapshot()
    await served.until(3)
