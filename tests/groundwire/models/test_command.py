"""`python -m groundwire.models` end to end on a tiny model, and once on the real ones."""

import contextlib
import fcntl
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from groundwire.models import __main__ as command
from groundwire.models.export import is_exported
from groundwire.models.locate import INT8_NAME, MANIFEST_NAME, ModelMissing, encoder_files, generator_file
from groundwire.models.registry import WEIGHTS_NAME
from tests.groundwire.models.tiny_encoder import tiny_model, write_wheel

PACKAGE = "groundwire-tiny-model"


@pytest.fixture
def models_dir(tmp_path: Path, wheels_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty models folder, with the tiny encoder as the only model and its wheel on the index."""
    model, contents = tiny_model(PACKAGE)
    write_wheel(wheels_dir, PACKAGE, contents)
    monkeypatch.setattr(command, "DEFAULT_MODELS", (model,))
    monkeypatch.setenv("GROUNDWIRE_MODELS_DIR", str(tmp_path / "models"))
    return tmp_path / "models"


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(command.main, arguments)


def _assert_one_line(result: Result, *parts: str) -> None:
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if line.startswith("groundwire.models: ")]
    assert len(lines) == 1
    assert "Traceback" not in result.output
    for part in parts:
        assert part in lines[0]


def _sources() -> dict[str, str]:
    return {file.name: file.sha256 for file in tiny_model(PACKAGE)[0].files}


def test_first_run_fetches_and_exports_and_the_second_only_checks(models_dir: Path, monkeypatch: pytest.MonkeyPatch):
    first = _run()
    assert first.exit_code == 0, first.output
    assert "tiny (encoder, Apache-2.0) is ready" in first.output
    assert is_exported(models_dir / "tiny", _sources())
    before = {path: path.stat().st_mtime_ns for path in models_dir.rglob("*")}
    monkeypatch.setenv("PIP_FIND_LINKS", "/nonexistent")
    second = _run()
    assert second.exit_code == 0, second.output
    assert {path: path.stat().st_mtime_ns for path in models_dir.rglob("*")} == before


def test_a_run_killed_during_the_export_is_taken_up_there(models_dir: Path, monkeypatch: pytest.MonkeyPatch):
    _run()
    folder = models_dir / "tiny"
    (folder / MANIFEST_NAME).unlink()
    (folder / INT8_NAME).unlink()
    (folder / f".{INT8_NAME}.abc.part").write_bytes(b"half")
    monkeypatch.setenv("PIP_FIND_LINKS", "/nonexistent")
    again = _run()
    assert again.exit_code == 0, again.output
    assert is_exported(folder, _sources())
    assert not list(folder.glob(".*"))


def test_files_put_there_by_hand_need_no_package(models_dir: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_FIND_LINKS", "/nonexistent")
    folder = models_dir / "tiny"
    folder.mkdir(parents=True)
    for name, content in tiny_model(PACKAGE)[1].items():
        (folder / name).write_bytes(content)
    result = _run()
    assert result.exit_code == 0, result.output
    assert is_exported(folder, _sources())


def test_a_damaged_file_is_told_and_replaced(models_dir: Path):
    _run()
    (models_dir / "tiny" / WEIGHTS_NAME).write_bytes(b"damaged")
    result = _run()
    assert result.exit_code == 0, result.output
    assert "it will be replaced" in result.output
    assert is_exported(models_dir / "tiny", _sources())


def test_complete_models_in_a_folder_that_cannot_be_written_are_fine(models_dir: Path):
    _run()
    with _as_nobody(models_dir.parent):
        result = _run()
    assert result.exit_code == 0, result.output


def test_a_folder_that_cannot_be_written_is_one_line(models_dir: Path):
    with _as_nobody(models_dir.parent):
        result = _run()
    _assert_one_line(result, str(models_dir), "Permission denied", "GROUNDWIRE_MODELS_DIR")


def test_a_file_in_the_folders_place_is_one_line(models_dir: Path):
    models_dir.write_text("not a folder")
    _assert_one_line(_run(), str(models_dir), "GROUNDWIRE_MODELS_DIR")


def test_no_room_for_a_file_is_one_line_and_leaves_nothing_half_done(models_dir: Path):
    """A limit on file sizes stands for a full disk: the same call fails, in the middle of a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, hard))
    try:
        result = _run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    _assert_one_line(result)
    assert not list(models_dir.rglob("*.part"))
    assert not (models_dir / "tiny" / WEIGHTS_NAME).exists()
    assert _run().exit_code == 0


def test_a_package_that_is_not_there_is_one_line(models_dir: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_FIND_LINKS", "/nonexistent")
    _assert_one_line(_run(), PACKAGE, str(models_dir / "tiny"))


def test_only_takes_a_role(models_dir: Path):
    assert _run("--only", "generator").output == ""
    assert not models_dir.exists()
    assert _run("--only", "encoder").exit_code == 0
    assert _run("--only", "reranker").exit_code == 2


def test_a_second_run_at_the_same_time_waits_for_the_first(models_dir: Path):
    models_dir.mkdir()
    with (models_dir / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = subprocess.Popen(
            [sys.executable, "-c", _WAITING_RUN, str(models_dir)], stdout=subprocess.PIPE, text=True
        )
        assert waiting.stdout is not None
        watchdog = threading.Timer(120, waiting.kill)
        watchdog.start()
        try:
            assert "Waiting for another run" in waiting.stdout.readline()
            assert waiting.poll() is None
            fcntl.flock(lock, fcntl.LOCK_UN)
            waiting.communicate()
        finally:
            watchdog.cancel()
            waiting.kill()
    assert waiting.returncode == 0
    assert is_exported(models_dir / "tiny", _sources())


_WAITING_RUN = f"""
import os, sys
from groundwire.models import __main__ as command
from tests.groundwire.models.tiny_encoder import tiny_model
command.DEFAULT_MODELS = (tiny_model("{PACKAGE}")[0],)
sys.stdout.reconfigure(line_buffering=True)
command.main([])
"""


def test_real_models_are_verified_without_any_package(monkeypatch: pytest.MonkeyPatch):
    given = os.environ.get("GROUNDWIRE_MODELS_DIR")
    try:
        encoder_files(Path(given) if given else None)
        generator_file(Path(given) if given else None)
    except ModelMissing as error:
        pytest.skip(str(error))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "/nonexistent")
    result = _run()
    assert result.exit_code == 0, result.output
    assert result.output.count("is ready") == 2


@contextlib.contextmanager
def _as_nobody(folder: Path) -> Iterator[None]:
    """Leave `folder` read-only and give up the rights of root (CI runs as root, who may write anywhere)."""
    folder.chmod(0o555)
    if os.geteuid() != 0:
        yield
        folder.chmod(0o755)
        return
    # pytest's temporary folders are their owner's alone; nobody must be able to pass through them.
    closed = [(parent, parent.stat().st_mode) for parent in folder.parents if not parent.stat().st_mode & 0o001]
    for parent, mode in closed:
        parent.chmod(mode | 0o011)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        for parent, mode in closed:
            parent.chmod(mode)
        folder.chmod(0o755)
