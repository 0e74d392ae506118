"""A replica whose snapshots come late, in pieces or damaged, or whose disk fails for a while."""

import asyncio
import errno
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog

from retrieval_server.corpus import following as following_module
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.following import Following
from retrieval_server.corpus.snapshots.snapshots import SnapshotDirectory
from retrieval_server.corpus.snapshotting import Snapshotting
from retrieval_server.errors import FailedPrecondition
from tests.retrieval_server.corpus.support import WordHashEncoder, change, parsed

INTERVAL_S = 0.005
TIMEOUT_S = 60.0


@dataclass
class Replica:
    """A server's snapshots and one that follows them."""

    primary: Catalog
    replica: Catalog
    following: Following
    directory: Path
    count: int = 0

    async def snapshot(self) -> Path:
        """Change the primary's collection and copy it; return where the snapshot lies."""
        self.count += 1
        opened = await self.primary.get_or_create("c")
        await opened.write(Collection.apply, change(parsed(f"{self.count}.md", f"alpha {self.count}")))
        made = await Snapshotting(self.primary, self.directory).create("c")
        return self.directory / made.snapshot_id

    async def remove(self, snapshot: Path) -> None:
        """Remove a snapshot, as the primary does."""
        await Snapshotting(self.primary, self.directory).remove(snapshot.name)

    def directories(self) -> list[str]:
        """What lies where the replica keeps what it serves."""
        return [path.name for path in self.replica.get("c").collection.directory.parent.iterdir()]

    @property
    def generation(self) -> int | None:
        """What the replica serves."""
        if "c" not in self.replica.names() or self.replica.damage("c"):
            return None
        return self.replica.get("c").collection.current_view.generation

    async def until(self, generation: int) -> None:
        """Let it look again and again until it serves that."""
        async with asyncio.timeout(TIMEOUT_S):
            await self.following.catch_up()
            while self.generation != generation:
                await asyncio.sleep(INTERVAL_S / 10)
                await self.following.catch_up()


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Replica]:
    primary = Catalog(tmp_path / "primary", WordHashEncoder())
    replica = Catalog(tmp_path / "replica", WordHashEncoder(), is_read_only=True)
    for catalog in (primary, replica):
        await catalog.open_all()
    directory = tmp_path / "snapshots"
    yield Replica(primary, replica, Following(replica, directory, INTERVAL_S), directory)
    for catalog in (primary, replica):
        await catalog.close()


def failing(times: int, code: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let copying a snapshot fail so many times; return a list that grows with each try."""
    tries: list[int] = []
    copy_snapshot = following_module.copy_snapshot

    def copy(source: Path, target: Path) -> None:
        tries.append(1)
        if len(tries) <= times:
            target.mkdir()
            (target / "corpus.sqlite").touch()
            raise OSError(code, os.strerror(code), str(target))
        copy_snapshot(source, target)

    monkeypatch.setattr(following_module, "copy_snapshot", copy)
    return tries


@pytest.mark.parametrize("code", [errno.ENOENT, errno.EIO, errno.ENOSPC, errno.ESTALE])
async def test_a_failure_that_passes_delays_a_snapshot_and_no_more(
    served: Replica, code: int, monkeypatch: pytest.MonkeyPatch
):
    await served.snapshot()
    await served.until(1)
    await served.snapshot()
    tries = failing(3, code, monkeypatch)
    with structlog.testing.capture_logs() as logs:
        await served.until(2)
    assert len(tries) == 4
    waits = [log["next_try_after_s"] for log in logs if log["event"] == "snapshot could not be served yet"]
    assert waits == [INTERVAL_S, 2 * INTERVAL_S, 4 * INTERVAL_S]
    assert served.directories() == ["c@2"], "nothing half copied is left"


async def test_a_snapshot_that_arrives_piece_by_piece_is_served_when_it_is_whole(served: Replica):
    await served.snapshot()
    await served.until(1)
    database = (await served.snapshot()) / "corpus.sqlite"
    whole, state, apart = database.read_bytes(), database.parent / "lexical.json", served.directory / ".lexical.json"
    pieces: list[Callable[[], Any]] = [
        database.unlink,
        database.touch,
        lambda: (state.rename(apart), database.touch()),
        lambda: database.write_bytes(whole[:5000]),
        lambda: database.write_bytes(whole[: len(whole) // 2]),
    ]
    for arrive in pieces:
        arrive()
        for _ in range(3):
            await served.following.catch_up()
        assert served.generation == 1
    database.write_bytes(whole)
    apart.rename(state)
    await served.until(2)


async def test_a_damaged_snapshot_is_passed_over_until_its_files_change_and_logged_once(served: Replica):
    await served.snapshot()
    damaged = (await served.snapshot()) / "corpus.sqlite"
    whole = damaged.read_bytes()
    damaged.write_bytes(b"no database " * 1000)
    with structlog.testing.capture_logs() as logs:
        await served.until(1)
        for _ in range(5):
            await served.following.catch_up()
    assert [log["log_level"] for log in logs if "until its files change" in log["event"]] == ["error"]
    damaged.write_bytes(whole)
    await served.until(2)


async def test_a_new_snapshot_goes_before_a_damaged_one_and_what_is_served_never_gets_older(
    served: Replica, monkeypatch: pytest.MonkeyPatch
):
    await served.snapshot()
    await served.snapshot()
    await served.until(2)
    failing(10**6, errno.ENOSPC, monkeypatch)
    await served.snapshot()
    for _ in range(5):
        await served.following.catch_up()
    assert served.generation == 2


async def test_a_removed_snapshot_is_served_until_the_newest_that_remains_takes_its_place(served: Replica):
    older, newer = await served.snapshot(), await served.snapshot()
    await served.until(2)
    await served.remove(newer)
    assert served.generation == 2
    await served.until(1)
    await served.remove(older)
    for _ in range(3):
        await served.following.catch_up()
    assert served.generation == 1
    with served.replica.get("c").view() as view:
        assert view.chunk_count == 1


async def test_a_snapshot_that_is_removed_while_a_replica_copies_it_is_passed_over(
    served: Replica, monkeypatch: pytest.MonkeyPatch
):
    await served.snapshot()
    await served.until(1)
    doomed = await served.snapshot()
    copyfile = shutil.copyfile

    def copy_one_and_lose_the_rest(source: Path, target: Path) -> None:
        copyfile(source, target)
        if doomed.exists():
            SnapshotDirectory(served.directory).remove(SnapshotDirectory(served.directory).find(doomed.name)[0])

    with monkeypatch.context() as copying:
        copying.setattr(shutil, "copyfile", copy_one_and_lose_the_rest)
        await served.following.catch_up()
    assert not doomed.exists()
    assert served.generation == 1
    assert served.directories() == ["c@1"], "nothing half copied is left"
    await served.snapshot()
    await served.until(3)


async def test_a_replica_takes_no_snapshot_away_and_puts_nothing_back(served: Replica):
    made = await served.snapshot()
    await served.until(1)
    own = Snapshotting(served.replica, served.directory)
    for refused in (own.remove(made.name), own.restore(made.name)):
        with pytest.raises(FailedPrecondition) as caught:
            await refused
        assert caught.value.reason_name == "READ_ONLY"
    assert made.is_dir()


async def test_a_replica_does_not_rebuild(served: Replica):
    await served.snapshot()
    await served.until(1)
    with pytest.raises(FailedPrecondition):
        served.replica.rebuild("c", full=True)


async def test_a_directory_that_cannot_be_listed_is_looked_at_again(served: Replica):
    served.directory.touch()
    await served.following.catch_up()
    served.directory.unlink()
    await served.snapshot()
    await served.until(1)


@pytest.mark.parametrize("value", ["null", '"late"', "[]", "1.5", "true"])
async def test_one_broken_description_keeps_no_other_snapshot_from_being_served(served: Replica, value: str):
    await served.snapshot()
    about = (await served.snapshot()) / "snapshot.json"
    time = json.loads(about.read_text())["create_time_unix_ms"]
    about.write_text(about.read_text().replace(str(time), value))
    await served.until(1)
    await served.following.catch_up()


async def test_a_snapshot_of_a_name_that_no_collection_can_have_is_passed_over(served: Replica):
    about = (await served.snapshot()) / "snapshot.json"
    about.write_text(about.read_text().replace('"c"', '"../c"'))
    for _ in range(3):
        await served.following.catch_up()
    assert served.replica.names() == []
