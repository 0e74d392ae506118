"""The messages that put a question into the queue, and what they say."""

import time
from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2
from retrieval_server.generation.answers.answer_model import Fallback, Priority, Question, Retrieved
from retrieval_server.generation.answers.answer_modes import mode_to_pb
from retrieval_server.generation.jobs.job_plan import JobPlan
from retrieval_server.generation.packing.packing import DroppedPassage, DropReason, PackedPassage, Packing, span_of
from retrieval_server.generation.questions.condensing_message import condensing_from_pb, condensing_to_pb
from retrieval_server.model import Passage
from retrieval_server.passage_message import passage_from_pb, passage_to_pb

# A model that needs help to copy does not know when to stop either.
_PARAGRAPH_END = ("\n\n",)

_FALLBACKS = {
    Fallback.EXTRACTIVE: answer_pb2.ANSWER_FALLBACK_EXTRACTIVE,
    Fallback.NONE: answer_pb2.ANSWER_FALLBACK_NONE,
}
PRIORITIES = {
    Priority.INTERACTIVE: answer_pb2.ANSWER_PRIORITY_INTERACTIVE,
    Priority.BATCH: answer_pb2.ANSWER_PRIORITY_BATCH,
}
_DROP_REASONS = {
    DropReason.BUDGET: answer_pb2.PASSAGE_DROP_REASON_BUDGET,
    DropReason.PER_SOURCE: answer_pb2.PASSAGE_DROP_REASON_PER_SOURCE,
    DropReason.DUPLICATE: answer_pb2.PASSAGE_DROP_REASON_DUPLICATE,
    DropReason.FOCUS: answer_pb2.PASSAGE_DROP_REASON_FOCUS,
}
_DROP_REASONS_BACK = {number: reason for reason, number in _DROP_REASONS.items()}
_FALLBACKS_BACK = {number: fallback for fallback, number in _FALLBACKS.items()}


def job_message(question: Question, job_id: str, plan: JobPlan) -> job_pb2.GenerationJob:
    """Return the job that answers `question` as planned."""
    deadline = Timestamp()
    deadline.FromNanoseconds(time.time_ns() + int(question.options.timeout_s * 1e9))
    return job_pb2.GenerationJob(
        job_id=job_id,
        question=question.retrieve.query,
        passages=(passage_to_pb(one.passage) for one in plan.packing.packed),
        mode=mode_to_pb(question.options.mode),
        max_completion_tokens=question.options.max_completion_tokens,
        max_prompt_tokens=question.options.max_prompt_tokens,
        deadline=deadline,
        caller=question.caller,
        priority=PRIORITIES[question.options.priority],
        generate_anew=question.options.generate_anew,
        answer_start=plan.answer_start,
        closed_book=question.options.closed_book,
        copy_bonus=question.options.copy_bonus,
        stops=(*question.options.sampling.stops, *(_PARAGRAPH_END if question.options.copy_bonus > 0 else ())),
        temperature=question.options.sampling.temperature,
        top_p=question.options.sampling.top_p,
        seed=question.options.sampling.seed,
    )


def add_plan(message: job_pb2.JobRetrieved, plan: JobPlan) -> None:
    """Add to the first event of a job what its model is given."""
    message.answer_start = plan.answer_start
    message.packed_passages.extend(map(packed_to_pb, plan.packing.packed))
    message.dropped_passages.extend(map(dropped_to_pb, plan.packing.dropped))


def plan_from_message(message: job_pb2.JobRetrieved, passages: Sequence[Passage]) -> JobPlan:
    """Return the plan of a job; `passages` are those that were retrieved for it."""
    packed = tuple(
        PackedPassage(span_of(passages, one.passage_indexes, one.start_char, one.end_char), tuple(one.passage_indexes))
        for one in message.packed_passages
    )
    dropped = tuple(
        DroppedPassage(one.passage_index, _DROP_REASONS_BACK[one.reason]) for one in message.dropped_passages
    )
    return JobPlan(Packing(packed, dropped), message.answer_start)


def packed_to_pb(packed: PackedPassage) -> answer_pb2.PackedPassage:
    """Return the message of a packed passage."""
    return answer_pb2.PackedPassage(
        path=packed.passage.path,
        start_char=packed.passage.start_char,
        end_char=packed.passage.end_char,
        passage_indexes=packed.passage_indexes,
    )


def dropped_to_pb(dropped: DroppedPassage) -> answer_pb2.DroppedPassage:
    """Return the message of a dropped passage."""
    return answer_pb2.DroppedPassage(passage_index=dropped.passage_index, reason=_DROP_REASONS[dropped.reason])


def retrieved_message(question: Question, retrieved: Retrieved) -> job_pb2.JobRetrieved:
    """Return the first event of a job: all that is needed to check and to replay its answer."""
    return job_pb2.JobRetrieved(
        request_id=retrieved.request_id,
        passages=map(passage_to_pb, retrieved.passages),
        index_generation=retrieved.index_generation,
        fallback=_FALLBACKS[question.options.fallback],
        question=question.retrieve.query,
        mode=mode_to_pb(question.options.mode),
        closed_book=question.options.closed_book,
        min_supported_share=question.options.min_supported,
        first_statement_only=question.options.copy_bonus > 0 and not question.options.closed_book,
        condensing=condensing_to_pb(retrieved.condensing),
    )


def retrieved_from_message(message: job_pb2.JobRetrieved) -> Retrieved:
    """Return what was retrieved for a job."""
    passages = tuple(passage_from_pb(passage) for passage in message.passages)
    return Retrieved(message.request_id, passages, message.index_generation, condensing_from_pb(message.condensing))


def fallback_from_message(message: job_pb2.JobRetrieved) -> Fallback:
    """Return what the caller of a job wants when it cannot be answered by a generator."""
    return _FALLBACKS_BACK.get(message.fallback, Fallback.EXTRACTIVE)


def answered_events(
    retrieved: job_pb2.JobRetrieved, answer: job_pb2.CachedAnswer
) -> tuple[job_pb2.JobEvent, job_pb2.JobEvent, job_pb2.JobEvent, job_pb2.JobEvent]:
    """Return the events of a job that is answered from the cache; the texts go beside them, as for every job."""
    started = job_pb2.JobStarted(
        model=answer.generator.model,
        prompt_tokens=answer.generator.prompt_tokens,
        dropped_passage_indexes=answer.generator.dropped_passage_indexes,
        backend=answer.generator.backend,
        ignores_answer_start=answer.ignores_answer_start,
    )
    ended = job_pb2.JobEnded(
        outcome=job_pb2.JOB_OUTCOME_FINISHED,
        generator=answer.generator,
        ignores_answer_start=answer.ignores_answer_start,
    )
    return (
        job_pb2.JobEvent(retrieved=retrieved),
        job_pb2.JobEvent(attempt=1, started=started),
        job_pb2.JobEvent(attempt=1, delta=job_pb2.JobDelta()),
        job_pb2.JobEvent(attempt=1, ended=ended),
    )
