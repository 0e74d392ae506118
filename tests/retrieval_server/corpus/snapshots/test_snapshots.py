"""A snapshot is listed whole or not at all, and no id leads out of the directory."""

import json
from pathlib import Path

import pytest

from retrieval_server.corpus.files import commit_steps
from retrieval_server.corpus.files.commit_steps import CommitStep
from retrieval_server.corpus.snapshots.about import MAX_UNIX_MS
from retrieval_server.corpus.snapshots.snapshots import Snapshot, SnapshotDirectory
from retrieval_server.errors import GroundwireError, NotFound


class Death(BaseException):
    """What ends the process at a step."""


def made(snapshots: SnapshotDirectory) -> Snapshot:
    with snapshots.new("c", snapshots.next_time_unix_ms("c")) as partial:
        (partial.path / "dense").mkdir()
        (partial.path / "dense" / "vectors").write_bytes(b"much")
        return partial.finish(1)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_death_while_a_snapshot_is_removed_leaves_nothing_that_is_listed_and_no_files_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    snapshots = SnapshotDirectory(tmp_path)
    kept, doomed = made(snapshots), made(snapshots)

    def die(step: CommitStep) -> None:
        if step is CommitStep.SNAPSHOT_SET_ASIDE:
            raise Death

    with monkeypatch.context() as dying:
        dying.setattr(commit_steps, "on_step", die)
        with pytest.raises(Death):
            snapshots.remove(doomed)
    assert snapshots.list_all() == [kept]
    assert len(names(tmp_path)) == 2, "the files are there yet, under another name"
    snapshots.sweep()
    assert names(tmp_path) == [kept.snapshot_id]
    with pytest.raises(NotFound):
        snapshots.remove(doomed)


def test_the_size_of_a_snapshot_is_that_of_what_was_copied(tmp_path: Path):
    assert made(SnapshotDirectory(tmp_path)).size_bytes == len(b"much")


def test_a_removal_leaves_no_files(tmp_path: Path):
    snapshots = SnapshotDirectory(tmp_path)
    snapshots.remove(made(snapshots))
    assert names(tmp_path) == []


@pytest.mark.parametrize("told", ["../outside", "..", ".", "other", "", "/"])
def test_a_snapshot_that_calls_itself_otherwise_than_it_lies_is_none(tmp_path: Path, told: str):
    snapshots = SnapshotDirectory(tmp_path / "snapshots")
    lying, outside = made(snapshots), tmp_path / "outside"
    outside.mkdir()
    about = tmp_path / "snapshots" / lying.snapshot_id / "snapshot.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"snapshot_id": told}))
    assert snapshots.list_all() == []
    for snapshot_id in (told, lying.snapshot_id):
        with pytest.raises(NotFound):
            snapshots.find(snapshot_id)


def test_of_a_link_to_a_snapshot_elsewhere_the_link_is_removed(tmp_path: Path):
    elsewhere = SnapshotDirectory(tmp_path / "elsewhere")
    linked = made(elsewhere)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / linked.snapshot_id).symlink_to(tmp_path / "elsewhere" / linked.snapshot_id)
    here = SnapshotDirectory(tmp_path / "here")
    assert here.list_all() == [linked]
    here.remove(linked)
    assert names(tmp_path / "here") == []
    assert elsewhere.list_all() == [linked]
    assert (tmp_path / "elsewhere" / linked.snapshot_id / "dense" / "vectors").read_bytes() == b"much"


@pytest.mark.parametrize("value", ["null", "1", "[]"])
def test_a_digest_that_is_none_makes_no_snapshot(tmp_path: Path, value: str):
    snapshots = SnapshotDirectory(tmp_path)
    whole = made(snapshots)
    assert whole.digests_sha256
    about = tmp_path / whole.snapshot_id / "snapshot.json"
    about.write_text(about.read_text().replace(f'"{whole.digests_sha256}"', value))
    assert snapshots.list_all() == []


def test_after_a_snapshot_of_the_end_of_time_none_is_made_until_it_is_removed(tmp_path: Path):
    snapshots = SnapshotDirectory(tmp_path)
    odd = made(snapshots)
    about = tmp_path / odd.snapshot_id / "snapshot.json"
    about.write_text(about.read_text().replace(str(odd.create_time_unix_ms), str(MAX_UNIX_MS - 1)))
    last = made(snapshots)
    assert last.create_time_unix_ms == MAX_UNIX_MS
    with pytest.raises(GroundwireError, match=f"remove it with `client snapshot rm {last.snapshot_id}`") as caught:
        made(snapshots)
    assert caught.value.reason_name == "STORAGE_FAILED"
    snapshots.remove(last)
    snapshots.remove(odd)
    assert made(snapshots).create_time_unix_ms < MAX_UNIX_MS
