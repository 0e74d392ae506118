"""Which sequence a new prompt is computed in: the one that holds most of it already."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from generation_worker.engine.prefill_turns import MIN_SHARE_TOKENS

MIN_COPIED_TOKENS = 128
"""Copying a sequence costs as much time as reading some 50 tokens of prompt."""


@dataclass(slots=True)
class Slot:
    """One of llama.cpp's sequences: the tokens that are computed in it, and whether a generation goes on there."""

    sequence: int
    tokens: list[int] = field(default_factory=list)
    is_free: bool = True


@dataclass(frozen=True, slots=True)
class Placing:
    """A free slot for a prompt; `copied_from` has to be copied into it first; the first `kept_tokens` stay."""

    slot: Slot
    copied_from: Slot | None
    kept_tokens: int


def place(slots: Sequence[Slot], prompt: Sequence[int]) -> Placing | None:
    """Return where to compute a prompt, or None when no slot is free.

    The prompt's last tokens are never kept: something has to be computed to choose the next one.
    """
    free = [slot for slot in slots if slot.is_free]
    if not free:
        return None

    kept = {slot.sequence: _shared_count(slot.tokens, prompt[:-MIN_SHARE_TOKENS]) for slot in slots}
    best = max(free, key=lambda slot: kept[slot.sequence])  # of equals the first: those in use lie together
    source = max(slots, key=lambda slot: kept[slot.sequence])
    if kept[source.sequence] >= kept[best.sequence] + MIN_COPIED_TOKENS:
        # Where the fewest tokens are the least is lost.
        return Placing(min(free, key=lambda slot: len(slot.tokens)), source, kept[source.sequence])
    return Placing(best, None, kept[best.sequence])


def _shared_count(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
