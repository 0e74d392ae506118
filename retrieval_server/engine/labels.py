"""Questions whose answers' places are known, and what counts as finding one.

A passage hits a gold span when it lies in the same file and their intersection ÷ union is at least 0.05. Paths are
compared by whole components, and either may be the end of the other.
"""

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from retrieval_server.model import Passage

MIN_OVERLAP = 0.05


class GoldSpan(NamedTuple):
    """Where an answer stands: offsets are code points, `end_char` exclusive."""

    path: str
    start_char: int
    end_char: int


class LabelledQuestion(NamedTuple):
    """A question, and the spans of which each answers it."""

    text: str
    gold: tuple[GoldSpan, ...]


class KnownPaths:
    """The display paths of a collection, to tell whether a label names one of them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._parts_by_name: dict[str, list[list[str]]] = defaultdict(list)
        for path in paths:
            parts = _parts(path)
            if parts:
                self._parts_by_name[parts[-1]].append(parts)

    def __contains__(self, path: str) -> bool:
        parts = _parts(path)
        return bool(parts) and any(_is_same_file(parts, known) for known in self._parts_by_name.get(parts[-1], ()))


def is_hit(passage: Passage, gold: Sequence[GoldSpan]) -> bool:
    """Tell whether a passage hits any of the gold spans."""
    parts = _parts(passage.path)
    return any(
        _overlap(passage.start_char, passage.end_char, one) >= MIN_OVERLAP and _is_same_file(parts, _parts(one.path))
        for one in gold
    )


def first_hit_rank(passages: Sequence[Passage], gold: Sequence[GoldSpan]) -> int | None:
    """Return the rank, from 1, of the first passage that hits; None when none does."""
    return next((rank for rank, passage in enumerate(passages, 1) if is_hit(passage, gold)), None)


def _overlap(start_char: int, end_char: int, other: GoldSpan) -> float:
    intersection = max(0, min(end_char, other.end_char) - max(start_char, other.start_char))
    union = end_char - start_char + other.end_char - other.start_char - intersection
    return intersection / union if union > 0 else 0.0


def _is_same_file(one: Sequence[str], other: Sequence[str]) -> bool:
    shared = min(len(one), len(other))
    return shared > 0 and list(one[-shared:]) == list(other[-shared:])


def _parts(path: str) -> list[str]:
    return [part for part in posixpath.normpath(path.replace("\\", "/")).split("/") if part not in ("", ".")]
