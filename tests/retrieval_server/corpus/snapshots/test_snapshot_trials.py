"""What is logged of snapshots that cannot be served, and what is seen of their files."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from retrieval_server.corpus.snapshots.about import Snapshot
from retrieval_server.corpus.snapshots.snapshot_trials import SnapshotTrials

SNAPSHOT = Snapshot("c-20260101-000000-00000000", "c", 1, 1, 1)


@pytest.mark.parametrize("first_delay_s", [1.0, 60.0, 3600.0])
def test_the_first_failure_is_logged_however_seldom_it_is_looked(tmp_path: Path, first_delay_s: float):
    trials = SnapshotTrials(tmp_path, first_delay_s)
    with structlog.testing.capture_logs() as logs:
        trials.failed(SNAPSHOT, OSError(errno.ENOSPC, "full"), 0.0, frozenset())
    assert [log["event"] for log in logs] == ["snapshot could not be served yet"]
    assert "exc_info" not in logs[0], "it is known, and one line says all"


def test_a_failure_of_no_known_kind_keeps_its_traceback(tmp_path: Path):
    error = ValueError("odd")
    with structlog.testing.capture_logs() as logs:
        SnapshotTrials(tmp_path, 1.0).failed(SNAPSHOT, error, 0.0, frozenset())
    assert logs[0]["exc_info"] is error
    assert logs[0]["problem"] == "ValueError: odd"


def test_of_files_that_cannot_be_listed_those_are_known_that_were_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen = tmp_path / SNAPSHOT.snapshot_id / "corpus.sqlite"
    seen.parent.mkdir()
    seen.write_bytes(b"much")

    def rglob(path: Path, pattern: str) -> Iterator[Path]:
        del path, pattern
        yield seen
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    monkeypatch.setattr(Path, "rglob", rglob)
    assert [(name, size) for name, size, _ in SnapshotTrials(tmp_path, 1.0).files(SNAPSHOT)] == [("corpus.sqlite", 4)]
