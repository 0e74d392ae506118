"""Keeping a step's rows in one batch."""

import itertools
from collections.abc import Collection, Sequence

from generation_worker.engine.llama_model import Row
from generation_worker.engine.slots import Slot

_ANY_TOKEN = 0


def hole_fillers(slots: Sequence[Slot], used: Collection[int], context_tokens: int) -> list[Row]:
    """Return rows to compute in vain and forget: one in each slot that lies by itself between used ones.

    llama.cpp computes only neighbouring sequences together. A hole would cost a pass over all weights, which takes
    nearly twice as long as one more row in the pass that is made anyhow.
    """
    fillers: list[Row] = []
    for before, after in itertools.pairwise(sorted(used)):
        if after == before + 2:
            slot = slots[before + 1]
            if len(slot.tokens) < context_tokens:
                fillers.append(Row(_ANY_TOKEN, len(slot.tokens), slot.sequence, wants_next=False))
    return fillers
