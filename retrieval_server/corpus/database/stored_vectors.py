"""Vectors as they lie in the database: the bytes of float32, of which all have the encoder's dimension."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class MisshapenVectors(Exception):
    """A stored vector is missing, or is not (dimension,) float32."""


def size_bytes(dimension: int) -> int:
    """Return how long each is."""
    return dimension * np.dtype(np.float32).itemsize


def read_vectors(stored: Sequence[bytes | None], dimension: int) -> NDArray[np.float32]:
    """Return vectors, (n, dimension) float32. Raises MisshapenVectors."""
    whole = [one for one in stored if one is not None and len(one) == size_bytes(dimension)]
    if len(whole) < len(stored):
        raise MisshapenVectors
    return np.frombuffer(b"".join(whole), dtype=np.float32).reshape(len(whole), dimension)
