"""The lock of a data directory."""

import os
from pathlib import Path

import pytest

from retrieval_server.corpus.files.directory_lock import DirectoryLock


def test_a_full_disk_keeps_nobody_from_taking_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    lock = DirectoryLock(tmp_path)
    with monkeypatch.context() as full_disk:
        full_disk.setattr(os, "write", no_space)
        lock.acquire()
    with pytest.raises(OSError, match="another retrieval-server is using it"):
        DirectoryLock(tmp_path).acquire()
    lock.release()
    again = DirectoryLock(tmp_path)
    again.acquire()
    again.release()
