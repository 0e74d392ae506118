"""What of the retrieved passages a model is given: which ones, which parts of them, in which order, and what not."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from retrieval_server.generation.text.evidence import Evidence
from retrieval_server.generation.text.sentences import LINE_BREAK, line_spans
from retrieval_server.generation.text.unit_ranking import rank_units
from retrieval_server.generation.text.values import read_values
from retrieval_server.model import Passage

# A part of a passage is shown with whole lines; parts with no more than this between them are shown as one.
_MAX_GAP_LINES = 1


class PackingOrder(Enum):
    """The order of passages in a prompt."""

    BEST_FIRST = "best_first"
    BEST_LAST = "best_last"
    DOCUMENT = "document"


class DropReason(Enum):
    """Why the model is given nothing of a passage."""

    BUDGET = "budget"
    PER_SOURCE = "per_source"
    DUPLICATE = "duplicate"
    FOCUS = "focus"


@dataclass(frozen=True, slots=True)
class PackingOptions:
    """How to pack; `focus_chars` of 0 stands for whole passages."""

    order: PackingOrder = PackingOrder.BEST_FIRST
    max_per_source: int | None = None
    focus_chars: int = 0


@dataclass(frozen=True, slots=True)
class PackedPassage:
    """A span of a document, verbatim unless it is derived, and the passages, by index, it comes from, best first."""

    passage: Passage
    passage_indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DroppedPassage:
    """A retrieved passage, by index, of which nothing is packed."""

    passage_index: int
    reason: DropReason


@dataclass(frozen=True, slots=True)
class Packing:
    """What the model is given, in its order, and what it is not given."""

    packed: tuple[PackedPassage, ...]
    dropped: tuple[DroppedPassage, ...]


def pack_passages(question: str, passages: Sequence[Passage], options: PackingOptions) -> Packing:
    """Pack `passages`, best first: at most so many of a document, no text twice, of each the parts that answer.

    What is packed stands best first, too; see `ordered`.
    """
    dropped: dict[int, DropReason] = {}
    kept = _within_sources(passages, options.max_per_source, dropped)
    merged = _merged(passages, kept, dropped)
    if options.focus_chars:
        merged = _focused(question, merged, options.focus_chars)
    shown = {index for one in merged for index in one.passage_indexes}
    for index in kept:
        if index not in shown and index not in dropped:
            dropped[index] = DropReason.FOCUS
    return Packing(tuple(merged), tuple(DroppedPassage(index, reason) for index, reason in sorted(dropped.items())))


def ordered(packing: Packing, order: PackingOrder) -> Packing:
    """Return `packing`, best first, in another order."""
    return replace(packing, packed=tuple(_ordered(packing.packed, order)))


def span_of(passages: Sequence[Passage], passage_indexes: Sequence[int], start_char: int, end_char: int) -> Passage:
    """Return the span of a document that some retrieved passages, which adjoin or overlap, hold together."""
    first, *others = sorted(passage_indexes, key=lambda index: passages[index].start_char)
    joined = PackedPassage(passages[first], (first,))
    for index in others:
        joined = _joined(joined, PackedPassage(passages[index], (index,)))
    start = start_char - joined.passage.start_char
    return cut(joined.passage, start, start + end_char - start_char)


def without(packing: Packing, left_out: Sequence[int]) -> Packing:
    """Return `packing` less the packed passages, by index, that did not fit the token budget."""
    packed = tuple(one for index, one in enumerate(packing.packed) if index not in left_out)
    shown = {index for one in packed for index in one.passage_indexes}
    gone = {index for one in packing.packed for index in one.passage_indexes} - shown
    dropped = {one.passage_index: one for one in packing.dropped}
    dropped |= {index: DroppedPassage(index, DropReason.BUDGET) for index in gone if index not in dropped}
    return Packing(packed, tuple(dropped[index] for index in sorted(dropped)))


def cut(passage: Passage, start: int, end: int) -> Passage:
    """Return the part `text[start:end]` of a passage, its span and lines moved accordingly; all of a derived one."""
    if passage.is_derived:
        return passage
    first_line = passage.start_line + len(LINE_BREAK.findall(passage.text[:start]))
    text = passage.text[start:end]
    return replace(
        passage,
        text=text,
        start_char=passage.start_char + start,
        end_char=passage.start_char + end,
        start_line=first_line,
        end_line=first_line + len(LINE_BREAK.findall(text)),
    )


def _within_sources(
    passages: Sequence[Passage], max_per_source: int | None, dropped: dict[int, DropReason]
) -> list[int]:
    count_of: dict[str, int] = {}
    kept: list[int] = []
    for index, passage in enumerate(passages):
        count = count_of.get(passage.document_id, 0)
        if max_per_source is not None and count >= max_per_source:
            dropped[index] = DropReason.PER_SOURCE
            continue
        count_of[passage.document_id] = count + 1
        kept.append(index)
    return kept


def _merged(passages: Sequence[Passage], kept: Sequence[int], dropped: dict[int, DropReason]) -> list[PackedPassage]:
    """Join passages of one document that overlap or adjoin; each stands where the best of its parts stood."""
    merged: list[PackedPassage] = []
    for index in kept:
        new = PackedPassage(passages[index], (index,))
        held = next((one for one in merged if _holds(one.passage, new.passage)), None)
        if held is not None:
            dropped[index] = DropReason.DUPLICATE
            continue
        # A passage between two others joins all three.
        while (
            place := next((i for i, one in enumerate(merged) if _touch(one.passage, new.passage)), None)
        ) is not None:
            new = _joined(merged.pop(place), new)
        merged.append(new)
        merged.sort(key=lambda one: min(one.passage_indexes))
    return merged


def _touch(one: Passage, other: Passage) -> bool:
    return _share_offsets(one, other) and one.start_char <= other.end_char and other.start_char <= one.end_char


def _holds(one: Passage, other: Passage) -> bool:
    return _share_offsets(one, other) and one.start_char <= other.start_char and other.end_char <= one.end_char


def _share_offsets(one: Passage, other: Passage) -> bool:
    return one.document_id == other.document_id and not (one.is_derived or other.is_derived)


def _joined(one: PackedPassage, other: PackedPassage) -> PackedPassage:
    first, second = sorted((one.passage, other.passage), key=lambda passage: passage.start_char)
    best = min((one, other), key=lambda packed: min(packed.passage_indexes)).passage
    text = first.text + second.text[first.end_char - second.start_char :]
    joined = replace(
        best,
        text=text,
        start_char=first.start_char,
        end_char=max(first.end_char, second.end_char),
        start_line=first.start_line,
        end_line=max(first.end_line, second.end_line),
    )
    return PackedPassage(joined, tuple(sorted({*one.passage_indexes, *other.passage_indexes})))


def _focused(question: str, merged: Sequence[PackedPassage], focus_chars: int) -> list[PackedPassage]:
    """Keep of the passages the lines of the units that answer best, until `focus_chars` are used; at least one unit.

    Of a passage that is derived all lines are kept, or none.
    """
    passages = [one.passage for one in merged]
    spans = [line_spans(passage.text) for passage in passages]
    wanted = [(value.passage_index, value.start, value.end) for value in read_values(question, passages)]
    wanted += [
        (one.passage_index, one.unit.start, one.unit.end) for one in rank_units(question, passages, Evidence(passages))
    ]
    chosen: dict[int, set[int]] = {}
    room_chars = focus_chars
    for index, start, end in wanted:
        is_whole = passages[index].is_derived
        lines = {line for line, span in enumerate(spans[index]) if is_whole or (span[0] < end and span[1] > start)}
        lines -= chosen.get(index, set())
        cost_chars = sum(spans[index][line][1] - spans[index][line][0] + 1 for line in lines)
        if cost_chars > room_chars and chosen:
            continue
        room_chars -= cost_chars
        chosen.setdefault(index, set()).update(lines)
        if room_chars <= 0:
            break
    if not chosen:
        return [
            PackedPassage(cut(one.passage, 0, min(len(one.passage.text), focus_chars)), one.passage_indexes)
            for one in merged[:1]
        ]
    return [
        PackedPassage(
            cut(passages[index], spans[index][first][0], spans[index][last][1]), merged[index].passage_indexes
        )
        for index, lines in chosen.items()
        for first, last in _runs(sorted(lines))
    ]


def _runs(lines: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for line in lines:
        if runs and line - runs[-1][1] <= 1 + _MAX_GAP_LINES:
            runs[-1] = (runs[-1][0], line)
        else:
            runs.append((line, line))
    return runs


def _ordered(packed: Sequence[PackedPassage], order: PackingOrder) -> list[PackedPassage]:
    if order is PackingOrder.BEST_LAST:
        return [*reversed(packed)]
    if order is PackingOrder.DOCUMENT:
        rank_of: dict[str, int] = {}
        for rank, one in enumerate(packed):
            rank_of.setdefault(one.passage.document_id, rank)
        return sorted(packed, key=lambda one: (rank_of[one.passage.document_id], one.passage.start_char))
    return [*packed]
