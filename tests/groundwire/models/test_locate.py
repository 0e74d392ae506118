"""A start-up learns in one line what is wrong with the model files and what to do."""

from pathlib import Path

import pytest

from groundwire.models.export import export_encoder
from groundwire.models.locate import (
    INT8_NAME,
    MANIFEST_NAME,
    ModelCorrupt,
    ModelMissing,
    encoder_files,
    generator_file,
    model_dir,
)
from groundwire.models.registry import DEFAULT_MODELS, ENCODER, GENERATOR, TOKENIZER_NAME
from tests.groundwire.models.tiny_encoder import tiny_model


@pytest.fixture
def models_dir(tmp_path: Path) -> Path:
    folder = model_dir(tmp_path, ENCODER)
    folder.mkdir()
    for name, content in tiny_model("tiny")[1].items():
        (folder / name).write_bytes(content)
    export_encoder(folder)
    return tmp_path


def _assert_helpful_line(message: str) -> None:
    assert "\n" not in message
    assert "make models" in message
    assert "GROUNDWIRE_MODELS_DIR" in message


def test_exported_encoder_is_found_with_its_fingerprint(models_dir: Path):
    files = encoder_files(models_dir)
    assert files.name == ENCODER.name
    assert files.model.is_file()
    assert files.tokenizer.is_file()
    assert len(files.fingerprint) == 64


@pytest.mark.parametrize("name", [INT8_NAME, TOKENIZER_NAME, MANIFEST_NAME])
def test_missing_encoder_file_is_named_with_where_it_was_looked_for(models_dir: Path, name: str):
    path = model_dir(models_dir, ENCODER) / name
    path.unlink()
    with pytest.raises(ModelMissing) as raised:
        encoder_files(models_dir)
    assert str(path) in str(raised.value)
    _assert_helpful_line(str(raised.value))


@pytest.mark.parametrize("name", [INT8_NAME, TOKENIZER_NAME, MANIFEST_NAME])
def test_wrong_encoder_file_is_named(models_dir: Path, name: str):
    path = model_dir(models_dir, ENCODER) / name
    path.write_bytes(b"something else")
    with pytest.raises(ModelCorrupt) as raised:
        encoder_files(models_dir)
    assert str(path) in str(raised.value)
    _assert_helpful_line(str(raised.value))


def test_missing_and_wrong_generator_are_named(tmp_path: Path):
    path = model_dir(tmp_path, GENERATOR) / GENERATOR.files[0].name
    with pytest.raises(ModelMissing) as missing:
        generator_file(tmp_path)
    path.parent.mkdir()
    path.write_bytes(b"GGUF")
    with pytest.raises(ModelCorrupt) as wrong:
        generator_file(tmp_path)
    for raised in (missing, wrong):
        assert str(path) in str(raised.value)
        _assert_helpful_line(str(raised.value))


def test_a_folder_in_a_files_place_is_an_error_and_no_crash(tmp_path: Path):
    (model_dir(tmp_path, GENERATOR) / GENERATOR.files[0].name).mkdir(parents=True)
    with pytest.raises(ModelMissing):
        generator_file(tmp_path)


def test_registry_pins_whole_checksums():
    for model in DEFAULT_MODELS:
        assert model.licence
        for file in model.files:
            assert len(bytes.fromhex(file.sha256)) == 32
            assert file.size_bytes > 0
