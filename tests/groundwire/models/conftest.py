"""A package index that is a folder: pip runs for real and no network is touched."""

from pathlib import Path

import pytest


@pytest.fixture
def wheels_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that pip, and pip alone, looks for packages in."""
    folder = tmp_path_factory.mktemp("wheels")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.delenv("PIP_CONSTRAINT", raising=False)
    return folder
