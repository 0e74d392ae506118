"""How float32 matrices become int8 ones."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# A product sums neighbours u8·s8 in 16 bits on x86 processors without VNNI, and saturates there. With weights of at
# most 64, 2·255·64 still fits: every processor gets the same integers, so one fingerprint means the same vectors.
MATRIX_PEAK = 64

# A table is looked up and not multiplied with, so nothing can overflow.
TABLE_PEAK = 127


@dataclass(frozen=True, slots=True)
class Quantised:
    """`values * scales` approximates a matrix: int8, with one float32 scale for each column."""

    values: NDArray[np.int8]
    scales: NDArray[np.float32]


def quantise_columns(matrix: NDArray[np.float32], peak: int) -> Quantised:
    """Quantise a (rows, columns) matrix symmetrically to -peak … peak; a column of zeros gets scale 1."""
    highest = np.abs(matrix).max(axis=0)
    scales = np.where(highest > 0, highest / np.float32(peak), np.float32(1)).astype(np.float32)
    return Quantised(np.rint(matrix / scales).astype(np.int8), scales)


def smoothing_factors(
    matrix: NDArray[np.float32], norm_weight: NDArray[np.float32], norm_bias: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the factors, (rows,) float32, that move outliers of a matrix's input into the matrix.

    One scale serves the whole input, so the few channels that a layer norm makes large cost the others their
    precision. SmoothQuant (arXiv:2211.10438, α = 0.5): divide channel j of the input by
    sqrt(max|X_j| / max|W_j|) and multiply row j of the matrix by it. What a layer norm gives is known without
    calibration: three standard deviations of channel j reach |bias_j| + 3·|weight_j|.
    """
    reach = np.abs(norm_bias) + np.float32(3) * np.abs(norm_weight)
    row_peaks = np.abs(matrix).max(axis=1)
    usable = (reach > 0) & (row_peaks > 0)
    factors = np.sqrt(np.divide(reach, row_peaks, out=np.ones_like(reach), where=usable))
    result: NDArray[np.float32] = factors.astype(np.float32)
    return result
