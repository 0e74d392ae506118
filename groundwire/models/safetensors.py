"""Reads float32 tensors from a safetensors file: 8 bytes of header length, a JSON header, raw little-endian data."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundwire.models.locate import ModelCorrupt

_HEADER_LENGTH_BYTES = 8
_FLOAT32 = np.dtype("<f4")


def read_float32_tensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """Return every float32 tensor of the file by name; tensors of other types (position ids) are left out.

    Raises:
        ModelCorrupt: the file is not a safetensors file, or is cut short.
    """
    content = path.read_bytes()
    data_start = _HEADER_LENGTH_BYTES + int.from_bytes(content[:_HEADER_LENGTH_BYTES], "little")
    try:
        header: dict[str, Any] = json.loads(content[_HEADER_LENGTH_BYTES:data_start])
        return {
            name: _tensor(content, data_start, entry)
            for name, entry in header.items()
            if name != "__metadata__" and entry["dtype"] == "F32"
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelCorrupt(f"{path} is not a whole safetensors file: {error}") from error


def _tensor(content: bytes, data_start: int, entry: dict[str, Any]) -> NDArray[np.float32]:
    start, end = entry["data_offsets"]
    flat = np.frombuffer(content, _FLOAT32, count=(end - start) // _FLOAT32.itemsize, offset=data_start + start)
    return flat.reshape(entry["shape"])
