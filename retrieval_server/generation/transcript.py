"""The events of a job turned into the events of its answer.

The outcome depends on the job's events alone, sequence numbers included: whoever attaches, whenever, sees the same.
"""

from collections.abc import Iterator
from dataclasses import replace

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import error_pb2
from retrieval_server.errors import Cancelled, Expired, GroundwireError, InternalFault, Reason, Unavailable
from retrieval_server.generation.answer_model import (
    AnswerMode,
    AnswerState,
    Delta,
    Event,
    Fallback,
    Generator,
    Restarted,
    Result,
    Retrieved,
)
from retrieval_server.generation.citations import check_answer
from retrieval_server.generation.direct_answers import extractive_contents
from retrieval_server.generation.job_messages import (
    fallback_from_message,
    job_passage_count,
    retrieved_from_message,
)

_RETRYABLE_REASONS = frozenset(
    (
        error_pb2.ERROR_REASON_JOB_LOST,
        error_pb2.ERROR_REASON_NO_WORKER,
        error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE,
        error_pb2.ERROR_REASON_SHUTTING_DOWN,
    )
)


_STATES = {
    job_pb2.JOB_OUTCOME_CANCELLED: AnswerState.CANCELLED,
    job_pb2.JOB_OUTCOME_EXPIRED: AnswerState.EXPIRED,
}


class Transcript:
    """Takes a job's events in order and tells the answer's."""

    def __init__(self, retrieved: job_pb2.JobRetrieved) -> None:
        self._retrieved = retrieved_from_message(retrieved)
        self._fallback = fallback_from_message(retrieved)
        self._question = retrieved.question
        self._attempt_count = 0
        passages = self._retrieved.passages
        self._unsent = range(job_passage_count(passages), len(passages))
        self._generator = Generator("", AnswerMode.STUFF, dropped_passage_indexes=tuple(self._unsent))
        self._last_sequence = 0

    def begin(self) -> Event:
        """Return the first event."""
        return self._numbered(1, self._retrieved)

    def follow(self, event: job_pb2.JobEvent) -> list[Event]:
        """Return the answer's events that a job's event gives rise to; after JobEnded the last one is the Result.

        JobEnded costs the check of the text, some milliseconds.
        """
        match event.WhichOneof("event"):
            case "started":
                contents: Iterator[Delta | Restarted | Result] = self._started(event)
            case "delta" if event.delta.text:
                contents = iter([Delta(event.delta.text)])
            case "ended":
                contents = self._ended(event.ended)
            case _:
                return []
        return [self._numbered(event.sequence + offset, content) for offset, content in enumerate(contents)]

    def _numbered(self, sequence: int, content: Retrieved | Delta | Restarted | Result) -> Event:
        # A queue that lost the job makes up its end, without knowing what was sent before.
        self._last_sequence = max(sequence, self._last_sequence + 1)
        return Event(self._last_sequence, content)

    def _started(self, event: job_pb2.JobEvent) -> Iterator[Restarted]:
        self._generator = Generator(
            event.started.model,
            AnswerMode.STUFF,
            prompt_tokens=event.started.prompt_tokens,
            dropped_passage_indexes=tuple(sorted({*event.started.dropped_passage_indexes, *self._unsent})),
        )
        if event.attempt > max(self._attempt_count, 1):
            yield Restarted(event.attempt, error_pb2.ERROR_REASON_NO_WORKER)
        self._attempt_count = max(self._attempt_count, event.attempt)

    def _ended(self, ended: job_pb2.JobEnded) -> Iterator[Delta | Restarted | Result]:
        result, fallback_reason = self._outcome(ended)
        if fallback_reason is None or self._fallback is Fallback.NONE:
            yield result
            return
        attempt = result.attempt_count + 1
        has_no_worker = fallback_reason == error_pb2.ERROR_REASON_NO_WORKER
        yield Restarted(attempt, fallback_reason if has_no_worker else error_pb2.ERROR_REASON_GENERATION_FAILED)
        yield from extractive_contents(self._question, self._retrieved, fallback_reason, attempt)

    def _outcome(self, ended: job_pb2.JobEnded) -> tuple[Result, Reason.ValueType | None]:
        """Return the result as the generator left it, and why something else should stand in, if it should."""
        generator = self._generator_of(ended)
        result = Result(
            self._retrieved, AnswerState.FAILED, generator=generator, attempt_count=max(self._attempt_count, 1)
        )
        if ended.outcome != job_pb2.JOB_OUTCOME_FINISHED:
            error = failure_of(ended)
            is_final = isinstance(error, InternalFault) or error.reason == error_pb2.ERROR_REASON_NO_WORKER
            state = _STATES.get(ended.outcome, AnswerState.FAILED)
            return replace(result, state=state, error=error), error.reason if is_final else None
        if not ended.text.strip():
            error = InternalFault(error_pb2.ERROR_REASON_GENERATION_FAILED, "the generator returned no text")
            return replace(result, error=error), error.reason
        checked = check_answer(ended.text, self._retrieved.passages, generator.dropped_passage_indexes)
        answered = replace(
            result,
            state=AnswerState.ANSWERED,
            text=ended.text,
            citations=checked.citations,
            sentences=checked.sentences,
        )
        return answered, None if checked.acceptable else error_pb2.ERROR_REASON_GENERATION_FAILED

    def _generator_of(self, ended: job_pb2.JobEnded) -> Generator:
        if not ended.HasField("generator"):
            return self._generator
        told = ended.generator
        return Generator(
            told.model or self._generator.model,
            AnswerMode.STUFF,
            prompt_tokens=told.prompt_tokens or self._generator.prompt_tokens,
            completion_tokens=told.completion_tokens,
            dropped_passage_indexes=tuple(
                sorted({*self._generator.dropped_passage_indexes, *told.dropped_passage_indexes})
            ),
        )


def failure_of(ended: job_pb2.JobEnded) -> GroundwireError:
    """Return the error that a caller is told when a job ended without an answer."""
    if ended.outcome == job_pb2.JOB_OUTCOME_CANCELLED:
        return Cancelled(error_pb2.ERROR_REASON_JOB_CANCELLED, ended.message or "the answer was cancelled")
    if ended.outcome == job_pb2.JOB_OUTCOME_EXPIRED:
        return Expired(
            error_pb2.ERROR_REASON_DEADLINE_EXCEEDED,
            ended.message or "the deadline passed before the answer was complete",
        )
    if ended.outcome == job_pb2.JOB_OUTCOME_DEAD_LETTER:
        return InternalFault(
            error_pb2.ERROR_REASON_JOB_DEAD_LETTERED,
            ended.message or "the answer was attempted as often as allowed and never finished",
        )
    if ended.reason in _RETRYABLE_REASONS:
        return Unavailable(ended.reason, ended.message or "the answer's job was lost; ask again")
    return InternalFault(
        ended.reason or error_pb2.ERROR_REASON_GENERATION_FAILED, ended.message or "the generator failed"
    )
