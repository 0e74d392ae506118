"""What a model is asked to do for a question: which text it reads, and how its answer begins."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval_server.generation.answers.answer_model import Question
from retrieval_server.generation.answers.answer_modes import PROMPT_A_PASSAGE
from retrieval_server.generation.packing.packing import (
    PackedPassage,
    Packing,
    PackingOrder,
    ordered,
    pack_passages,
    span_of,
    without,
)
from retrieval_server.generation.packing.prompt_packing import pack_prompt
from retrieval_server.generation.questions.restating import restate
from retrieval_server.model import Passage
from retrieval_server.passage_message import passage_to_pb

# A job carries the best passages up to this many characters: more than any generator's context holds, so that the
# worker, which can count tokens, is the one who decides. A constant, because a replay must find the same passages.
MAX_JOB_CHARS = 262_144


@dataclass(frozen=True, slots=True)
class JobPlan:
    """What goes into the job of a question."""

    packing: Packing
    answer_start: str


def plan_job(question: Question, passages: Sequence[Passage]) -> JobPlan:
    """Return what a model is given of `passages` (best first), and the beginning of its answer."""
    query, options = question.retrieve.query, question.options
    if options.closed_book:
        return JobPlan(Packing((), ()), "")
    packing = pack_passages(query, passages, options.packing)
    answer_start = restate(query)
    if options.mode in PROMPT_A_PASSAGE:
        return JobPlan(_within_job(_one_span_a_passage(passages, packing)), answer_start)
    packing = _within_job(packing)
    if options.packing.order is not PackingOrder.BEST_FIRST:
        # A worker that runs out of room drops what stands last, which may be the best: nothing may be too much for it.
        messages = [passage_to_pb(one.passage) for one in packing.packed]
        fitting = pack_prompt(query, messages, options.max_prompt_tokens, answer_start=answer_start)
        packing = ordered(without(packing, fitting.dropped_passage_indexes), options.packing.order)
    return JobPlan(packing, answer_start)


def _one_span_a_passage(passages: Sequence[Passage], packing: Packing) -> Packing:
    """Join the parts of a passage, from the first to the last, so that it has one prompt and counts once."""
    spans: dict[tuple[int, ...], tuple[int, int]] = {}
    for one in packing.packed:
        start, end = spans.get(one.passage_indexes, (one.passage.start_char, one.passage.end_char))
        spans[one.passage_indexes] = min(start, one.passage.start_char), max(end, one.passage.end_char)
    joined = (PackedPassage(span_of(passages, indexes, *span), indexes) for indexes, span in spans.items())
    return replace(packing, packed=tuple(joined))


def _within_job(packing: Packing) -> Packing:
    char_count = 0
    for count, one in enumerate(packing.packed):
        char_count += len(one.passage.text)
        if count and char_count > MAX_JOB_CHARS:
            return without(packing, range(count, len(packing.packed)))
    return packing
