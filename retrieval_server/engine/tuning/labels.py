"""Questions whose answers' places are known, and which passages find one: `groundwire.recall` says what counts."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from groundwire.recall import MIN_OVERLAP, is_same_file, overlap, path_parts
from retrieval_server.model import Passage


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
            parts = path_parts(path)
            if parts:
                self._parts_by_name[parts[-1]].append(parts)

    def __contains__(self, path: str) -> bool:
        parts = path_parts(path)
        return bool(parts) and any(is_same_file(parts, known) for known in self._parts_by_name.get(parts[-1], ()))


def is_hit(passage: Passage, gold: Sequence[GoldSpan]) -> bool:
    """Tell whether a passage hits any of the gold spans."""
    parts = path_parts(passage.path)
    return any(
        overlap(passage.start_char, passage.end_char, one.start_char, one.end_char) >= MIN_OVERLAP
        and is_same_file(parts, path_parts(one.path))
        for one in gold
    )


def first_hit_rank(passages: Sequence[Passage], gold: Sequence[GoldSpan]) -> int | None:
    """Return the rank, from 1, of the first passage that hits; None when none does."""
    return next((rank for rank, passage in enumerate(passages, 1) if is_hit(passage, gold)), None)
