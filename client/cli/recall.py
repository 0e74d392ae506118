"""Recall@k as this ecosystem defines it, with Wilson's interval.

A question is found at k when one of the first k passages lies in a gold file and overlaps the gold span with
intersection ÷ union ≥ 0.05. Paths are compared normalised; either may be a suffix of the other.
"""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import math
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import client
from client.cli.dataset_file import Source

MIN_OVERLAP = 0.05
CUTOFFS = (1, 3, 5, 10)
_Z_95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Recall:
    """Share of questions found among the first `k` passages, with its 95 % interval."""

    k: int
    found_count: int
    question_count: int
    recall: float
    low: float
    high: float


def first_hit_rank(retrieved: Sequence[Source], gold: Sequence[Source]) -> int | None:
    """Return the rank, from 1, of the first passage that hits any gold span; None when none does."""
    for rank, passage in enumerate(retrieved, 1):
        if any(same_file(passage.file_path, one.file_path) and overlap(passage, one) >= MIN_OVERLAP for one in gold):
            return rank
    return None


def overlap(one: Source, other: Source) -> float:
    """Return intersection ÷ union of two spans; 0 when both are empty."""
    first = max(one.first_character_index, other.first_character_index)
    last = min(one.last_character_index, other.last_character_index)
    intersection = max(0, last - first)
    lengths = sum(span.last_character_index - span.first_character_index for span in (one, other))
    union = lengths - intersection
    return intersection / union if union else 0.0


def same_file(one: str, other: str) -> bool:
    """Tell whether two paths name the same file: equal, or one the end of the other, by whole components."""
    parts, other_parts = _parts(one), _parts(other)
    shared = min(len(parts), len(other_parts))
    return shared > 0 and parts[-shared:] == other_parts[-shared:]


def _parts(path: str) -> list[str]:
    return [part for part in posixpath.normpath(path.replace("\\", "/")).split("/") if part not in ("", ".")]


def recalls(ranks: Sequence[int | None], k: int) -> list[Recall]:
    """Return recall at each usual cutoff up to `k`, and at `k` itself."""
    found = []
    for cutoff in sorted({*(one for one in CUTOFFS if one < k), k}):
        count = sum(rank is not None and rank <= cutoff for rank in ranks)
        low, high = wilson_interval(count, len(ranks))
        found.append(Recall(cutoff, count, len(ranks), count / len(ranks), low, high))
    return found


def recall_lines(recalls: Iterable[Recall | client.RecallAtCutoff], question_count: int) -> Iterator[str]:
    """Yield a table, its heading first."""
    yield f"{'':>10}  recall   95 % interval    found of {question_count}"
    for one in recalls:
        interval = f"{one.low:6.1%} – {one.high:6.1%}"
        yield f"{f'recall@{one.k}':10}  {one.recall:6.1%}  {interval:>16}  {one.found_count:>6}"


def wilson_interval(success_count: int, trial_count: int) -> tuple[float, float]:
    """Return the 95 % score interval of a share (Wilson 1927, doi:10.1080/01621459.1927.10502953)."""
    share = success_count / trial_count
    squared = _Z_95**2 / trial_count
    middle = (share + squared / 2) / (1 + squared)
    half = _Z_95 / (1 + squared) * math.sqrt(share * (1 - share) / trial_count + squared / (4 * trial_count))
    return max(0.0, middle - half), min(1.0, middle + half)
