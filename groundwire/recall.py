"""What counts as finding an answer, here and in results that were written down: one definition for server and client.

A passage hits a gold span when it lies in the same file and their intersection ÷ union is at least 0.05. Paths are
compared by whole components, and either may be the end of the other.
"""

import math
import posixpath
from collections.abc import Sequence

MIN_OVERLAP = 0.05
_CUTOFFS = (1, 3, 5, 10)
_Z_95 = 1.959963984540054


def path_parts(path: str) -> list[str]:
    """Return the components of a path, normalised."""
    return [part for part in posixpath.normpath(path.replace("\\", "/")).split("/") if part not in ("", ".")]


def is_same_file(parts: Sequence[str], other_parts: Sequence[str]) -> bool:
    """Tell whether two paths name the same file, by their components."""
    shared = min(len(parts), len(other_parts))
    return shared > 0 and parts[-shared:] == other_parts[-shared:]


def overlap(start_char: int, end_char: int, other_start_char: int, other_end_char: int) -> float:
    """Return intersection ÷ union of two spans; 0 when both are empty."""
    intersection = max(0, min(end_char, other_end_char) - max(start_char, other_start_char))
    union = end_char - start_char + other_end_char - other_start_char - intersection
    return intersection / union if union > 0 else 0.0


def cutoffs(k: int) -> list[int]:
    """Return the numbers of passages at which recall is told: the usual ones below `k`, and `k` itself."""
    return [*(one for one in _CUTOFFS if one < k), k]


def wilson_interval(success_count: int, trial_count: int) -> tuple[float, float]:
    """Return the 95 % score interval of a share (Wilson 1927, doi:10.1080/01621459.1927.10502953)."""
    share = success_count / trial_count
    squared = _Z_95**2 / trial_count
    middle = (share + squared / 2) / (1 + squared)
    half = _Z_95 / (1 + squared) * math.sqrt(share * (1 - share) / trial_count + squared / (4 * trial_count))
    return max(0.0, middle - half), min(1.0, middle + half)
