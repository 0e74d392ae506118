"""Recall@k of results that were written down: `groundwire.recall` says what counts."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import client
from client.cli.dataset_file import Source
from groundwire.recall import MIN_OVERLAP, cutoffs, is_same_file, overlap, path_parts, wilson_interval


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
        if any(same_file(passage.file_path, one.file_path) and _overlap(passage, one) >= MIN_OVERLAP for one in gold):
            return rank
    return None


def same_file(one: str, other: str) -> bool:
    """Tell whether two paths name the same file: equal, or one the end of the other, by whole components."""
    return is_same_file(path_parts(one), path_parts(other))


def _overlap(one: Source, other: Source) -> float:
    return overlap(
        one.first_character_index, one.last_character_index, other.first_character_index, other.last_character_index
    )


def recalls(ranks: Sequence[int | None], k: int) -> list[Recall]:
    """Return recall at each usual cutoff up to `k`, and at `k` itself."""
    found = []
    for cutoff in cutoffs(k):
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
