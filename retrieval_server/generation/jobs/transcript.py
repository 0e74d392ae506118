"""The events of a job turned into the events of its answer.

The outcome depends on the job's events alone, sequence numbers included: whoever attaches, whenever, sees the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import error_pb2
from retrieval_server.errors import Expired, FailedPrecondition, InternalFault, Reason
from retrieval_server.generation.answers.answer_model import (
    AnswerState,
    Delta,
    Event,
    Fallback,
    Generator,
    PassageWeight,
    Restarted,
    Result,
    Retrieved,
    SentenceSupport,
)
from retrieval_server.generation.answers.answer_modes import mode_from_pb
from retrieval_server.generation.checking.backing_order import backing_order
from retrieval_server.generation.checking.citations import CheckedAnswer, check_answer
from retrieval_server.generation.extracting.direct_answers import extractive_contents
from retrieval_server.generation.jobs.failures import failure_of
from retrieval_server.generation.jobs.job_messages import (
    fallback_from_message,
    plan_from_message,
    retrieved_from_message,
)
from retrieval_server.generation.packing.packing import without
from retrieval_server.generation.text.values import read_values

_CLOSING = ".,;:!?)]}"
# Of an answer that the extractive one takes the place of; any other is told as a failed generation.
_RESTART_REASONS = frozenset((error_pb2.ERROR_REASON_NO_WORKER, error_pb2.ERROR_REASON_DEADLINE_EXCEEDED))
# After these the fallback stands in, and not the next try.
_FINAL_ERRORS = (Expired, FailedPrecondition, InternalFault)
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
        self._closed_book = retrieved.closed_book
        self._min_supported = retrieved.min_supported_share
        self._first_statement_only = retrieved.first_statement_only
        self._plan = plan_from_message(retrieved, self._retrieved.passages)
        self._attempt_count = 0
        self._mode = mode_from_pb(retrieved.mode)
        self._generator = Generator("", self._mode)
        self._left_out: tuple[int, ...] = ()
        self._has_continued = False
        self._answer_start = self._plan.answer_start
        self._last_sequence = 0
        self._told = ""

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
                text = event.delta.text if self._has_continued else self._joint(event.delta.text) + event.delta.text
                self._has_continued = True
                contents = iter([Delta(text)])
            case "ended":
                contents = self._ended(event.ended)
            case _:
                return []
        return [self._numbered(event.sequence + offset, content) for offset, content in enumerate(contents)]

    def _numbered(self, sequence: int, content: Retrieved | Delta | Restarted | Result) -> Event:
        # A queue that lost the job makes up its end, without knowing what was sent before.
        self._last_sequence = max(sequence, self._last_sequence + 1)
        if isinstance(content, Delta):
            self._told += content.text
        elif isinstance(content, Restarted):
            self._told = ""
        return Event(self._last_sequence, content)

    def _started(self, event: job_pb2.JobEvent) -> Iterator[Delta | Restarted]:
        started = event.started
        self._generator = Generator(
            started.model, self._mode, prompt_tokens=started.prompt_tokens, backend=started.backend
        )
        self._answer_start = "" if started.ignores_answer_start else self._plan.answer_start
        self._left_out = tuple(sorted(event.started.dropped_passage_indexes))
        self._has_continued = False
        attempt = event.attempt
        if self._told:  # a queue that was put back to an older state counts its attempts anew
            attempt = max(attempt, self._attempt_count + 1)
        if attempt > max(self._attempt_count, 1):
            yield Restarted(attempt, started.restart_reason or error_pb2.ERROR_REASON_NO_WORKER)
        self._attempt_count = max(self._attempt_count, attempt)
        if self._answer_start:
            yield Delta(self._answer_start)

    def _joint(self, continuation: str) -> str:
        """Return what stands between the answer's start and what the model goes on with."""
        is_apart = not self._answer_start or continuation[0].isspace() or continuation[0] in _CLOSING
        return "" if is_apart else " "

    def _ended(self, ended: job_pb2.JobEnded) -> Iterator[Delta | Restarted | Result]:
        result, fallback_reason = self._outcome(ended)
        attempt = result.attempt_count + 1
        if fallback_reason is None or self._fallback is Fallback.NONE or self._closed_book:
            shown = result if self._fallback is Fallback.NONE or self._closed_book else _supported_part(result)
            if shown.text and shown.text != self._told:  # what nothing supports is not said
                yield Restarted(attempt, error_pb2.ERROR_REASON_GENERATION_FAILED)
                yield Delta(shown.text)
                shown = replace(shown, attempt_count=attempt)
            yield shown
            return
        told = fallback_reason if fallback_reason in _RESTART_REASONS else error_pb2.ERROR_REASON_GENERATION_FAILED
        yield Restarted(attempt, told)
        yield from extractive_contents(self._question, self._retrieved, fallback_reason, attempt)

    def _outcome(self, ended: job_pb2.JobEnded) -> tuple[Result, Reason.ValueType | None]:
        """Return the result as the generator left it, and why something else should stand in, if it should."""
        generator = self._generator_of(ended)
        packing = without(self._plan.packing, self._left_out)
        dropped = tuple(one.passage_index for one in packing.dropped)
        result = Result(
            self._retrieved,
            AnswerState.FAILED,
            generator=replace(generator, dropped_passage_indexes=dropped),
            attempt_count=max(self._attempt_count, 1),
            question=self._question,
            packing=None if self._closed_book else packing,
        )
        if ended.outcome != job_pb2.JOB_OUTCOME_FINISHED:
            error = failure_of(ended)
            is_final = (
                isinstance(error, FailedPrecondition | InternalFault | Expired)
                or error.reason == error_pb2.ERROR_REASON_NO_WORKER
            )
            state = _STATES.get(ended.outcome, AnswerState.FAILED)
            return replace(result, state=state, error=error), error.reason if is_final else None
        if not ended.text.strip():
            error = InternalFault(error_pb2.ERROR_REASON_GENERATION_FAILED, "the generator returned no text")
            return replace(result, error=error), error.reason
        text = self._answer_start + self._joint(ended.text) + ended.text
        if self._first_statement_only:
            text = first_statement(text)
        checked = self._check(text, generator.passage_weights)
        answered = replace(
            result,
            state=AnswerState.ANSWERED,
            text=text,
            citations=checked.citations,
            sentences=checked.sentences,
        )
        return answered, None if checked.acceptable else error_pb2.ERROR_REASON_GENERATION_FAILED

    def _check(self, text: str, weights: Sequence[PassageWeight]) -> CheckedAnswer:
        packed = self._plan.packing.packed
        order, left_out = backing_order(len(packed), self._left_out, weights)
        passages = [packed[index].passage for index in order]
        checked = check_answer(
            text,
            passages,
            left_out,
            question=self._question,
            stated=read_values(self._question, passages),
            min_supported=self._min_supported,
        )
        # What the caller knows are the passages that were retrieved.
        citations = tuple(
            replace(one, passage_index=packed[order[one.passage_index]].passage_indexes[0]) for one in checked.citations
        )
        return replace(checked, citations=citations)

    def _generator_of(self, ended: job_pb2.JobEnded) -> Generator:
        if not ended.HasField("generator"):
            return self._generator
        told = ended.generator
        self._left_out = tuple(sorted({*self._left_out, *told.dropped_passage_indexes}))
        return Generator(
            told.model or self._generator.model,
            mode_from_pb(told.mode),
            prompt_tokens=told.prompt_tokens or self._generator.prompt_tokens,
            completion_tokens=told.completion_tokens,
            from_cache=told.from_cache,
            passage_weights=tuple(
                PassageWeight(one.packed_index, one.prior, one.posterior, one.wrote_answer)
                for one in told.passage_weights
            ),
            backend=told.backend or self._generator.backend,
        )


def first_statement(text: str) -> str:
    """Return the first line of an answer, or all of it when that line announces more.

    A small model that was asked for one sentence and goes on after it goes astray.
    """
    line = text.strip().split("\n", 1)[0].rstrip()
    return text if line.endswith((":", "```")) else line


def _supported_part(result: Result) -> Result:
    """Return an answer without the sentences that nothing supports."""
    kept = [sentence for sentence in result.sentences if sentence.supported]
    if result.state is not AnswerState.ANSWERED or not kept or len(kept) == len(result.sentences):
        return result
    first = result.sentences[0]
    announced = result.text[first.start_char : first.end_char]
    # What announces a list claims nothing by itself, yet says what the list is of.
    text = f"{announced}\n" if announced.endswith(":") else ""
    sentences: list[SentenceSupport] = []
    before: SentenceSupport | None = None
    for sentence in kept:
        if before is not None:
            text += "\n" if "\n" in result.text[before.end_char : sentence.start_char] else " "
        start = len(text)
        text += result.text[sentence.start_char : sentence.end_char]
        sentences.append(replace(sentence, start_char=start, end_char=len(text)))
        before = sentence
    return replace(result, text=text, sentences=tuple(sentences))
