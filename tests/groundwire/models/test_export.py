"""An export is whole and verifiable or it does not count."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from groundwire.models import export
from groundwire.models.export import export_encoder, is_exported
from groundwire.models.locate import FP32_NAME, INT8_NAME, MANIFEST_NAME, ModelCorrupt
from groundwire.models.registry import TOKENIZER_NAME, WEIGHTS_NAME
from groundwire.models.safetensors import read_float32_tensors
from tests.groundwire.models.tiny_encoder import tiny_model, tiny_weights


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in tiny_model("tiny")[1].items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def _sources() -> dict[str, str]:
    return {file.name: file.sha256 for file in tiny_model("tiny")[0].files}


def test_export_writes_both_models_and_a_manifest_of_their_checksums(folder: Path):
    manifest = export_encoder(folder)
    assert is_exported(folder, _sources())
    assert manifest.int8_sha256 == hashlib.sha256((folder / INT8_NAME).read_bytes()).hexdigest()
    assert manifest.weights_sha256 == _sources()[WEIGHTS_NAME]
    assert not list(folder.glob(".*"))


def test_exporting_again_changes_no_byte_and_no_fingerprint(folder: Path):
    first = export_encoder(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert export_encoder(folder) == first
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_fingerprint_depends_on_the_tokenizer(folder: Path):
    first = export_encoder(folder)
    (folder / TOKENIZER_NAME).write_bytes(b"{}")
    assert export_encoder(folder).fingerprint != first.fingerprint


@pytest.mark.parametrize("name", [FP32_NAME, INT8_NAME])
def test_a_changed_or_absent_model_is_no_export(folder: Path, name: str):
    export_encoder(folder)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1] + b"?")
    assert not is_exported(folder, _sources())
    (folder / name).unlink()
    assert not is_exported(folder, _sources())


@pytest.mark.parametrize("content", ["", "{", "[]", '{"exporter_version": 1}', '{"unknown": 1}'])
def test_an_unreadable_manifest_is_no_export(folder: Path, content: str):
    export_encoder(folder)
    (folder / MANIFEST_NAME).write_text(content)
    assert not is_exported(folder, _sources())


def test_other_sources_or_another_exporter_are_no_export(folder: Path, monkeypatch: pytest.MonkeyPatch):
    export_encoder(folder)
    assert not is_exported(folder, _sources() | {WEIGHTS_NAME: "0" * 64})
    monkeypatch.setattr(export, "EXPORTER_VERSION", export.EXPORTER_VERSION + 1)
    assert not is_exported(folder, _sources())


def test_weights_are_read_by_name_and_other_types_left_out(folder: Path):
    read, written = read_float32_tensors(folder / WEIGHTS_NAME), tiny_weights()
    assert read.keys() == written.keys()
    assert all(np.array_equal(read[name], written[name]) for name in written)


@pytest.mark.parametrize("keep_bytes", [0, 5, 8, 300, -1])
def test_cut_weights_are_one_clear_error(folder: Path, keep_bytes: int):
    content = (folder / WEIGHTS_NAME).read_bytes()
    (folder / WEIGHTS_NAME).write_bytes(content[:keep_bytes])
    with pytest.raises(ModelCorrupt, match=r"model\.safetensors is not a whole safetensors file"):
        export_encoder(folder)


def test_weights_with_a_header_that_is_no_table_are_one_clear_error(folder: Path):
    header = json.dumps([1, 2]).encode()
    (folder / WEIGHTS_NAME).write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(ModelCorrupt):
        export_encoder(folder)
