"""Keeping a step's rows in one batch."""

import itertools
from collections.abc import Collection, Sequence

from generation_worker.engine.llama_model import Row
from generation_worker.engine.slots import Slot

MAX_FILLED_RUN = 2
_ANY_TOKEN = 0


def hole_fillers(slots: Sequence[Slot], used: Collection[int], context_tokens: int) -> list[Row]:
    """Return rows to compute in vain and forget: one in each slot that lies between used ones, of short runs.

    llama.cpp computes only neighbouring sequences together. A hole would cost a pass over all weights, which takes as
    long as two or three more rows in the pass that is made anyhow.
    """
    fillers: list[Row] = []
    for before, after in itertools.pairwise(sorted(used)):
        run = slots[before + 1 : after]
        if len(run) <= MAX_FILLED_RUN and all(len(slot.tokens) < context_tokens for slot in run):
            fillers += [Row(_ANY_TOKEN, len(slot.tokens), slot.sequence, wants_next=False) for slot in run]
    return fillers
