"""Turns the published encoder weights into the two ONNX models, and remembers what they were made from."""

from collections.abc import Mapping
from pathlib import Path

from groundwire.models.atomic import replacing
from groundwire.models.locate import (
    FP32_NAME,
    INT8_NAME,
    MANIFEST_NAME,
    ExportManifest,
    encoder_fingerprint,
    read_manifest,
    sha256_of,
)
from groundwire.models.registry import TOKENIZER_NAME, WEIGHTS_NAME

# Raise it whenever the graphs change: it makes every models directory export anew.
EXPORTER_VERSION = 2

_HEAD_COUNT = 12  # the one size that the shapes of the weights do not tell


def is_exported(folder: Path, sources: Mapping[str, str]) -> bool:
    """Return whether the folder holds this version's export, intact, of `sources` (file name to sha256)."""
    manifest = read_manifest(folder)
    if manifest is None or manifest.exporter_version != EXPORTER_VERSION:
        return False
    if (manifest.weights_sha256, manifest.tokenizer_sha256) != (sources[WEIGHTS_NAME], sources[TOKENIZER_NAME]):
        return False
    wanted = {FP32_NAME: manifest.fp32_sha256, INT8_NAME: manifest.int8_sha256}
    return all((folder / name).is_file() and sha256_of(folder / name) == sha256 for name, sha256 in wanted.items())


def export_encoder(folder: Path, head_count: int = _HEAD_COUNT) -> ExportManifest:
    """Write both ONNX models of the weights in `folder`, then the manifest. Equal weights give equal bytes.

    Raises:
        ModelCorrupt: the weights are not a whole safetensors file.
        ModuleNotFoundError: `onnx` or `numpy` (of the server's extra) is not installed.
    """
    from groundwire.models.minilm_onnx import fp32_graph, int8_graph
    from groundwire.models.safetensors import read_float32_tensors

    weights = read_float32_tensors(folder / WEIGHTS_NAME)
    for name, build in ((FP32_NAME, fp32_graph), (INT8_NAME, int8_graph)):
        with replacing(folder / name) as file:
            file.write(build(weights, head_count))
    tokenizer_sha256, int8_sha256 = sha256_of(folder / TOKENIZER_NAME), sha256_of(folder / INT8_NAME)
    manifest = ExportManifest(
        exporter_version=EXPORTER_VERSION,
        weights_sha256=sha256_of(folder / WEIGHTS_NAME),
        tokenizer_sha256=tokenizer_sha256,
        fp32_sha256=sha256_of(folder / FP32_NAME),
        int8_sha256=int8_sha256,
        fingerprint=encoder_fingerprint(int8_sha256, tokenizer_sha256),
    )
    with replacing(folder / MANIFEST_NAME) as file:
        file.write(manifest.to_json().encode())
    return manifest
