"""What a replica says of a collection whose newest snapshot it cannot serve, and when it stops saying it."""

import shutil
import time
from typing import Any

import pytest
import structlog

from retrieval_server.api.convert_collection import collection_to_pb
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.snapshots.about import Snapshot
from retrieval_server.corpus.snapshots.snapshot_trials import SnapshotTrials
from retrieval_server.corpus.snapshotting import Snapshotting
from tests.retrieval_server.corpus.support import change, parsed
from tests.retrieval_server.corpus.test_following import Replica, served

__all__ = ["served"]


def problem(served: Replica, collection: str = "c") -> str:
    return collection_to_pb(served.replica.get(collection)).problem


def later(monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    now_ns = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now_ns + seconds * 10**9)


async def test_a_newer_snapshot_that_does_not_say_what_it_is_is_told_until_it_does(
    served: Replica, monkeypatch: pytest.MonkeyPatch
):
    other = await served.primary.get_or_create("c-d")
    await other.write(Collection.apply, change(parsed("1.md", "alpha")))
    await Snapshotting(served.primary, served.directory).create("c-d")
    await served.snapshot()
    later(monkeypatch, 2)
    newer = await served.snapshot()
    about = newer / "snapshot.json"
    whole = about.read_bytes()
    about.write_bytes(b"")
    await served.until(1)
    assert problem(served) == f"snapshot {newer.name} cannot be served: snapshot.json is empty or damaged"
    assert problem(served, "c-d") == ""
    about.write_bytes(whole)
    await served.until(2)
    assert problem(served) == ""


async def test_an_older_snapshot_that_does_not_say_what_it_is_is_no_problem(
    served: Replica, monkeypatch: pytest.MonkeyPatch
):
    older = await served.snapshot()
    later(monkeypatch, 2)
    await served.snapshot()
    (older / "snapshot.json").unlink()
    await served.until(2)
    assert problem(served) == ""


async def test_that_only_the_description_of_what_is_served_was_lost_is_no_problem(
    served: Replica,
):
    snapshot = await served.snapshot()
    await served.until(1)
    (snapshot / "snapshot.json").unlink()
    await served.following.catch_up()
    assert served.generation == 1
    assert problem(served) == ""


async def test_when_all_snapshots_are_gone_so_is_the_problem_of_the_newest(served: Replica):
    older = await served.snapshot()
    await served.until(1)
    newer = await served.snapshot()
    (newer / "corpus.sqlite").unlink()
    await served.following.catch_up()
    assert newer.name in problem(served)
    for path in (newer, older):
        shutil.rmtree(path)
    await served.following.catch_up()
    assert served.generation == 1
    assert problem(served) == ""


@pytest.mark.parametrize("method", ["is_due", "files"])
async def test_looking_at_the_files_of_one_snapshot_keeps_no_other_collection_from_being_followed(
    served: Replica, method: str, monkeypatch: pytest.MonkeyPatch
):
    await served.snapshot()
    await served.until(1)
    newer = await served.snapshot()
    other = await served.primary.get_or_create("z")
    await other.write(Collection.apply, change(parsed("1.md", "alpha")))
    await Snapshotting(served.primary, served.directory).create("z")
    looked = getattr(SnapshotTrials, method)

    def look(trials: SnapshotTrials, snapshot: Snapshot, *more: Any) -> Any:
        if snapshot.collection == "c":
            raise RuntimeError("odd")
        return looked(trials, snapshot, *more)

    with monkeypatch.context() as odd, structlog.testing.capture_logs() as logs:
        odd.setattr(SnapshotTrials, method, look)
        await served.following.catch_up()
    assert served.replica.names() == ["c", "z"]
    assert problem(served) == f"snapshot {newer.name} cannot be served: RuntimeError: odd"
    [told] = [log for log in logs if log["event"] == "snapshot could not be served yet"]
    assert isinstance(told["exc_info"], RuntimeError)
    await served.until(2)
