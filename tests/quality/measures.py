"""Measures of rankings: nDCG by file, the area under a ROC curve, an interval of a share."""

import math
from collections.abc import Sequence

_Z_95 = 1.96


def ndcg_by_file(paths: Sequence[str], relevant: frozenset[str], depth: int = 10) -> float:
    """Return nDCG at `depth` of files in the order in which passages first show them, gain 1 each.

    Järvelin & Kekäläinen 2002, https://doi.org/10.1145/582415.582418.
    """
    files = list(dict.fromkeys(paths))[:depth]
    gained = sum(1 / math.log2(rank + 2) for rank, file in enumerate(files) if file in relevant)
    return gained / sum(1 / math.log2(rank + 2) for rank in range(min(depth, len(relevant))))


def roc_auc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Return how often a positive scores above a negative, ties half: the area under the ROC curve."""
    wins = sum((p > n) + 0.5 * (p == n) for p in positives for n in negatives)
    return wins / (len(positives) * len(negatives))


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927)."""
    share, z2 = hits / count, _Z_95**2
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z_95 * math.sqrt(share * (1 - share) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return centre - half, centre + half
