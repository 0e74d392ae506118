"""Of snapshots that are not done, those of dead makers go and no others, on one machine and on a disk many share."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from retrieval_server.corpus.snapshots import makers
from retrieval_server.corpus.snapshots.snapshots import PartialSnapshot, SnapshotDirectory
from tests.support.processes import PROJECT_DIR

MAKER = """
import pathlib, signal, sys
from retrieval_server.corpus.snapshots.snapshots import SnapshotDirectory
with SnapshotDirectory(pathlib.Path(sys.argv[1])).new("c", 1_767_225_600_000) as partial:
    (partial.path / "dense").mkdir()
    (partial.path / "dense" / "vectors").write_bytes(b"much")
    print(partial.path, flush=True)
    sys.stdin.read()
    partial.finish(1)
"""
LONG_AGO_S = time.time() - 10 * 24 * 3600


class Maker:
    """A process that has a snapshot half made until it is told to finish it."""

    def __init__(self, directory: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", MAKER, os.fspath(directory)],
            cwd=PROJECT_DIR,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        told = self.process.stdout.readline().strip()
        if not told:  # an empty path would be the working directory, which these tests change
            pytest.fail(f"the maker ended with {self.process.wait()} before it said where its snapshot is")
        self.partial = Path(told)

    def end(self, number: int | None = None) -> int:
        """Let it finish, or end it by a signal; its exit code."""
        if number is not None:
            self.process.send_signal(number)
        self.process.communicate()
        return self.process.returncode


@pytest.fixture
def start_maker(tmp_path: Path) -> Iterator[Callable[[], Maker]]:
    started: list[Maker] = []

    def start() -> Maker:
        started.append(Maker(tmp_path))
        return started[-1]

    yield start
    for maker in started:
        if maker.process.poll() is None:
            maker.end(signal.SIGKILL)


def let_lie_for_long(directory: Path) -> None:
    for path in (*directory.rglob("*"), directory):
        os.utime(path, (LONG_AGO_S, LONG_AGO_S), follow_symlinks=False)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_what_a_killed_process_left_goes_at_once_and_what_a_living_one_makes_stays(
    tmp_path: Path, start_maker: Callable[[], Maker]
):
    killed, living = start_maker(), start_maker()
    killed.end(signal.SIGKILL)
    let_lie_for_long(living.partial)  # a process that was stopped for days, say
    SnapshotDirectory(tmp_path).sweep()
    assert names(tmp_path) == [living.partial.name]
    assert living.end() == 0
    [made] = SnapshotDirectory(tmp_path).list_all()
    assert names(tmp_path) == [made.snapshot_id]
    assert names(tmp_path / made.snapshot_id) == ["dense", "digests.json", "snapshot.json"]


@pytest.mark.parametrize("began", ["without locks", "on another machine", "through another mount"])
def test_what_others_began_goes_when_it_has_lain_untouched_for_long(
    tmp_path: Path, start_maker: Callable[[], Maker], monkeypatch: pytest.MonkeyPatch, began: str
):
    maker = start_maker()
    maker.end(signal.SIGKILL)
    lock = maker.partial / "maker.lock"
    if began == "without locks":
        lock.write_bytes(b"")
    elif began == "on another machine":
        monkeypatch.setattr(makers, "_boot_id", lambda: b"another")
    else:
        boot_id, mount = lock.read_bytes().split()
        lock.write_bytes(b"%s %d" % (boot_id, int(mount) + 1))
    snapshots = SnapshotDirectory(tmp_path)
    snapshots.sweep()
    assert names(tmp_path) == [maker.partial.name]
    let_lie_for_long(maker.partial)
    (maker.partial / "dense" / "vectors").write_bytes(b"more")
    snapshots.sweep()
    assert names(tmp_path) == [maker.partial.name], "somebody writes"
    let_lie_for_long(maker.partial)
    snapshots.sweep()
    assert names(tmp_path) == []


def test_a_snapshot_can_be_made_where_there_are_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def no_locks(descriptor: object, operation: int) -> None:
        raise OSError("no locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    snapshots = SnapshotDirectory(tmp_path)
    with snapshots.new("c", 1_767_225_600_000) as partial:
        snapshots.sweep()
        made = partial.finish(1)
    assert snapshots.list_all() == [made]


def test_a_lock_that_cannot_be_written_is_no_hindrance(tmp_path: Path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with makers.making(tmp_path):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not makers.is_maker_dead(tmp_path)


def test_one_that_was_swept_under_its_maker_does_not_appear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    snapshots = SnapshotDirectory(tmp_path)

    def finish_swept(partial: PartialSnapshot) -> None:
        monkeypatch.setattr("retrieval_server.corpus.snapshots.snapshots.is_maker_dead", lambda path: True)
        snapshots.sweep()
        partial.finish(1)

    with pytest.raises(FileNotFoundError), snapshots.new("c", 1_767_225_600_000) as partial:
        finish_swept(partial)
    assert names(tmp_path) == []


def test_nothing_else_goes(tmp_path: Path):
    """Only directories that are named as unfinished snapshots are."""
    directory, elsewhere = tmp_path / "snapshots", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("kept")
    stem = "c-20250101-000000-0123abcd"
    for name in (".partial-", ".partial-mine", f".partial-{stem}.old", f"partial-{stem}", stem, ".partial"):
        (directory / name).mkdir(parents=True)
        (directory / name / "kept").write_text("kept")
    (directory / f".partial-{stem}").symlink_to(elsewhere)
    (directory / f".partial-other-{stem}").write_text("kept")
    let_lie_for_long(directory)
    before = names(directory)
    SnapshotDirectory(directory).sweep()
    assert names(directory) == before
    assert names(elsewhere) == ["kept"]
