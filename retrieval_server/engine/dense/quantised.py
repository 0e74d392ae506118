"""Vectors in int8: a quarter of the bytes of float32, and the bytes are what a scan waits for.

The kernel is NumKong's (numpy has no fast product of int8): it suits the processor at hand, reads memory-mapped rows
where they are, and lets other threads run meanwhile. What looks near is scored again in float32; float16 would halve
those rows on disk, but is off by 2e-4 in few dimensions and slower to score, since it has to be converted.
"""

from dataclasses import dataclass

import numkong
import numpy as np
from numpy.typing import NDArray

INT8_MAX = 127
# What float32 and the rounding of scores may add.
_EXACT_ERROR = 2e-5
# Rounding errors of a product are normally distributed; beyond so many deviations there is one in two million.
_DEVIATIONS = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class QuantisedQuery:
    """A query in the forms that the rows are compared in; `scale` is int8 units per unit."""

    exact: NDArray[np.float32]
    coarse: NDArray[np.int8]
    scale: float
    norm: float

    @classmethod
    def of(cls, vector: NDArray[np.float32]) -> "QuantisedQuery":
        """Return the query of a (dimension,) vector."""
        scale = scale_of(vector)
        return cls(vector, to_int8(vector, scale)[np.newaxis], scale, float(np.linalg.norm(vector)))


def scale_of(vectors: NDArray[np.float32]) -> float:
    """Return the factor that brings the largest value to 127."""
    largest = float(np.abs(vectors).max(initial=0.0))
    return INT8_MAX / largest if largest > 0 else 1.0


def to_int8(vectors: NDArray[np.float32], scale: float) -> NDArray[np.int8]:
    """Return the vectors times `scale`, rounded, in the same shape."""
    coarse: NDArray[np.int8] = np.clip(np.rint(vectors * scale), -INT8_MAX, INT8_MAX).astype(np.int8)
    return coarse


def coarse_products(query: QuantisedQuery, rows: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the dot product of the query with each of (n, dimension) rows, (n,), in units of both scales.

    Sums of up to 1,040 products of int8 are whole numbers that float32 holds.
    """
    products: NDArray[np.float32] = np.asarray(numkong.cdist(query.coarse, rows, "dot", out_dtype="float32"))[0]
    return products


def exact_products(vector: NDArray[np.float32], rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the dot product of a (dimension,) vector with each of (n, dimension) rows, (n,).

    Each row's product is summed alike wherever the row stands, so equal windows have equal scores.
    """
    products: NDArray[np.float32] = np.vecdot(rows, vector)
    return products


def coarse_error(query: QuantisedQuery, scale: float, largest_norm: float) -> float:
    """Return how far a coarse product may be from the exact one, in units of the similarity.

    Rounding to steps of 1/scale has a deviation of 1/(scale √12) a value, whatever the values are.
    """
    of_rows = query.norm / scale
    of_query = largest_norm / query.scale
    deviation = float(np.hypot(of_rows, of_query)) / float(np.sqrt(12))
    return _DEVIATIONS * deviation + _EXACT_ERROR * max(1.0, query.norm * largest_norm)
