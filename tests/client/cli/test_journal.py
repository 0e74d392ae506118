"""The journal beside a result file."""

from pathlib import Path

import pytest

from client.cli.journal import Journal


def test_one_that_cannot_be_put_in_place_leaves_nothing_behind(tmp_path: Path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="No space"), Journal(tmp_path / "results.json", {}, 1):
        pass
    assert list(tmp_path.iterdir()) == []
