"""Answering, with a queue in memory: what callers are told, and in which order."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import error_pb2
from retrieval_server.errors import (
    Cancelled,
    Expired,
    GroundwireError,
    InternalFault,
    InvalidRequest,
    Overloaded,
    Unavailable,
)
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.answers.answer_model import (
    AnswerMode,
    AnswerState,
    Fallback,
    Restarted,
)
from retrieval_server.model import SkippedReason
from tests.retrieval_server.generation.answering.support import (
    BAD,
    GOOD,
    JOB_ID,
    QUESTION,
    Corpus,
    ask,
    asking,
    collect,
    kinds,
    result_of,
)
from tests.retrieval_server.generation.documents import whole
from tests.retrieval_server.generation.fake_queue import FakeQueue


class TestGenerated:
    async def test_streams_what_was_retrieved_then_the_text_then_a_checked_result(
        self, answering: Answering, queue: FakeQueue
    ) -> None:
        events = await ask(answering, queue, QUESTION, *GOOD)
        assert kinds(events) == ["Retrieved", "Delta", "Delta", "Result"]
        result = result_of(events)
        assert (result.state, result.text, result.attempt_count) == (AnswerState.ANSWERED, "".join(GOOD), 1)
        assert [(c.path, c.start_line, c.passage_index) for c in result.citations] == [("docs/a.md", 3, 0)]
        assert result.generator is not None
        assert (result.generator.model, result.generator.mode) == ("fake-135m", AnswerMode.STUFF)
        assert (result.generator.prompt_tokens, result.generator.completion_tokens) == (900, 7)
        assert result.generator.fallback_reason is None
        assert result.retrieved.index_generation == 7

    async def test_the_job_carries_passages_limits_and_a_deadline(self, answering: Answering, queue: FakeQueue) -> None:
        await ask(answering, queue, asking(max_prompt_tokens=500), *GOOD)
        job = queue.jobs[JOB_ID]
        assert [passage.path for passage in job.passages] == ["docs/a.md", "docs/b.md"]
        assert (job.question, job.max_completion_tokens, job.max_prompt_tokens) == (
            QUESTION.retrieve.query,
            64,
            500,
        )
        assert job.deadline.seconds > 0

    async def test_a_second_attempt_voids_the_text_of_the_first(self, answering: Answering, queue: FakeQueue) -> None:
        async def work() -> None:
            job = await queue.next_job()
            await queue.start(job.job_id)
            await queue.say(job.job_id, "The def")
            await queue.start(job.job_id, attempt=2)
            await queue.say(job.job_id, *GOOD, attempt=2)
            await queue.end(job.job_id, text="".join(GOOD))

        events, _ = await asyncio.gather(collect(answering.stream(QUESTION)), work())
        assert kinds(events) == ["Retrieved", "Delta", "Restarted", "Delta", "Delta", "Result"]
        assert events[2].content == Restarted(2, error_pb2.ERROR_REASON_NO_WORKER)
        assert result_of(events).attempt_count == 2

    @pytest.mark.parametrize("deltas", [BAD, ("The default timeout is 30 seconds. ",) * 12, (" ",), ()])
    async def test_an_answer_that_fails_its_check_is_replaced_by_an_extractive_one(
        self, answering: Answering, queue: FakeQueue, deltas: tuple[str, ...]
    ) -> None:
        result = result_of(events := await ask(answering, queue, QUESTION, *deltas))
        assert Restarted(2, error_pb2.ERROR_REASON_GENERATION_FAILED) in [event.content for event in events]
        assert result.text == "The default request timeout is 30 seconds."
        assert (result.state, result.attempt_count) == (AnswerState.ANSWERED, 2)
        assert result.generator is not None
        assert result.generator.model == "extractive"
        assert result.generator.fallback_reason == error_pb2.ERROR_REASON_GENERATION_FAILED

    async def test_without_a_fallback_a_failed_check_is_told_sentence_by_sentence(
        self, answering: Answering, queue: FakeQueue
    ) -> None:
        result = result_of(await ask(answering, queue, asking(fallback=Fallback.NONE), *BAD))
        assert (result.state, result.text) == (AnswerState.ANSWERED, "".join(BAD))
        assert [sentence.supported for sentence in result.sentences] == [False]

    async def test_without_a_fallback_no_text_is_a_failure(self, answering: Answering, queue: FakeQueue) -> None:
        result = result_of(await ask(answering, queue, asking(fallback=Fallback.NONE)))
        assert result.state is AnswerState.FAILED
        assert isinstance(result.error, InternalFault)

    async def test_passages_that_the_worker_dropped_are_not_cited(self, answering: Answering, queue: FakeQueue) -> None:
        async def work() -> None:
            job = await queue.next_job()
            await queue.start(job.job_id, dropped=(0,))
            await queue.say(job.job_id, *GOOD)
            await queue.end(job.job_id, text="".join(GOOD))

        events, _ = await asyncio.gather(collect(answering.stream(asking(fallback=Fallback.NONE))), work())
        result = result_of(events)
        assert not result.citations
        assert result.generator is not None
        assert result.generator.dropped_passage_indexes == (0,)


class TestEndsWithoutAnAnswer:
    @pytest.mark.parametrize(
        ("outcome", "reason", "state", "error"),
        [
            (job_pb2.JOB_OUTCOME_CANCELLED, 0, AnswerState.CANCELLED, Cancelled),
            (job_pb2.JOB_OUTCOME_EXPIRED, 0, AnswerState.EXPIRED, Expired),
            (job_pb2.JOB_OUTCOME_DEAD_LETTER, 0, AnswerState.FAILED, InternalFault),
            (job_pb2.JOB_OUTCOME_FAILED, 0, AnswerState.FAILED, InternalFault),
            (job_pb2.JOB_OUTCOME_FAILED, error_pb2.ERROR_REASON_JOB_LOST, AnswerState.FAILED, Unavailable),
        ],
    )
    async def test_a_stream_tells_it_in_its_result_and_a_call_raises_it(
        self,
        answering: Answering,
        queue: FakeQueue,
        outcome: job_pb2.JobOutcome.ValueType,
        reason: error_pb2.ErrorReason.ValueType,
        state: AnswerState,
        error: type[GroundwireError],
    ) -> None:
        async def work() -> None:
            job = await queue.next_job()
            await queue.end(job.job_id, outcome, reason=reason)

        question = asking(fallback=Fallback.NONE)
        events, _ = await asyncio.gather(collect(answering.stream(question)), work())
        assert result_of(events).state is state
        assert isinstance(result_of(events).error, error)
        with pytest.raises(error):
            await asyncio.gather(answering.answer(question), work())

    @pytest.mark.parametrize("outcome", [job_pb2.JOB_OUTCOME_FAILED, job_pb2.JOB_OUTCOME_DEAD_LETTER])
    async def test_a_generator_that_fails_for_good_is_replaced_by_extraction(
        self, answering: Answering, queue: FakeQueue, outcome: job_pb2.JobOutcome.ValueType
    ) -> None:
        async def work() -> None:
            job = await queue.next_job()
            await queue.end(job.job_id, outcome)

        events, _ = await asyncio.gather(collect(answering.stream(QUESTION)), work())
        assert result_of(events).state is AnswerState.ANSWERED
        assert result_of(events).generator.model == "extractive"  # type: ignore[union-attr]

    async def test_a_job_that_vanishes_ends_the_stream_that_waits(self, answering: Answering, queue: FakeQueue) -> None:
        async def work() -> None:
            job = await queue.next_job()
            await queue.start(job.job_id)
            await queue.say(job.job_id, "The ")
            await queue.flush()

        events, _ = await asyncio.gather(collect(answering.stream(QUESTION)), work())
        assert result_of(events).state is AnswerState.FAILED
        assert result_of(events).error.reason == error_pb2.ERROR_REASON_JOB_LOST  # type: ignore[union-attr]

    async def test_a_job_that_vanishes_before_its_first_event_still_tells_what_was_retrieved(
        self, answering: Answering, queue: FakeQueue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def lose(*_: object) -> AsyncIterator[job_pb2.JobEvent]:
            yield FakeQueue.lost_event(0)

        monkeypatch.setattr(queue, "follow", lose)
        events = await collect(answering.stream(QUESTION))
        assert kinds(events) == ["Retrieved", "Result"]

    async def test_a_queue_that_tells_no_end_is_a_fault(
        self, answering: Answering, queue: FakeQueue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def stop(job_id: str) -> AsyncIterator[job_pb2.JobEvent]:
            yield queue.events_of(job_id)[0]

        monkeypatch.setattr(queue, "follow", stop)
        with pytest.raises(InternalFault):
            await collect(answering.stream(QUESTION))


class TestWithoutAJob:
    @pytest.mark.parametrize(
        ("error", "reason"),
        [
            (None, error_pb2.ERROR_REASON_NO_WORKER),
            (
                Unavailable(error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE, "no Redis"),
                error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE,
            ),
            (
                Overloaded(error_pb2.ERROR_REASON_QUEUE_FULL, "full", retry_after_s=1.0),
                error_pb2.ERROR_REASON_QUEUE_FULL,
            ),
        ],
    )
    async def test_nothing_to_generate_with_falls_back_or_fails_with_the_reason(
        self,
        answering: Answering,
        queue: FakeQueue,
        error: GroundwireError | None,
        reason: error_pb2.ErrorReason.ValueType,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        async def refuse(*_: object) -> None:
            raise error or AssertionError

        queue.worker_is_alive = error is not None
        monkeypatch.setattr(queue, "enqueue", refuse)
        events = await collect(answering.stream(QUESTION))
        assert kinds(events) == ["Retrieved", "Delta", "Result"]
        result = result_of(events)
        assert result.text == "The default request timeout is 30 seconds."
        assert result.generator is not None
        assert (result.generator.mode, result.generator.fallback_reason) == (AnswerMode.EXTRACTIVE, reason)
        with pytest.raises(Overloaded if reason == error_pb2.ERROR_REASON_QUEUE_FULL else Unavailable) as raised:
            await answering.answer(replace(asking(fallback=Fallback.NONE), request_id="q-2"))
        assert raised.value.reason == reason

    async def test_no_redis_at_all_is_no_reason_to_fail(self, answering: Answering, queue: FakeQueue) -> None:
        queue.fail_with = Unavailable(error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE, "no Redis")
        result = await answering.answer(QUESTION)
        assert result.generator is not None
        assert result.generator.fallback_reason == error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE

    async def test_extractive_mode_needs_no_queue(self, answering: Answering, queue: FakeQueue) -> None:
        queue.fail_with = Unavailable(error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE, "no Redis")
        result = await answering.answer(asking(mode=AnswerMode.EXTRACTIVE, fallback=Fallback.NONE))
        assert result.generator is not None
        assert (result.generator.model, result.generator.fallback_reason) == ("extractive", None)
        assert result.citations[0].text == "The default request timeout is 30 seconds."

    async def test_a_question_that_the_corpus_does_not_answer_is_skipped_unless_asked_anyway(
        self, answering: Answering, queue: FakeQueue, corpus: Corpus
    ) -> None:
        corpus.skipped_reason = SkippedReason.LOW_RELEVANCE
        events = await collect(answering.stream(QUESTION))
        assert kinds(events) == ["Retrieved", "Result"]
        result = result_of(events)
        assert (result.state, result.skipped_reason) == (AnswerState.SKIPPED, SkippedReason.LOW_RELEVANCE)
        assert (result.text, result.error, queue.enqueued_count) == ("", None, 0)
        anyway = replace(asking(answer_anyway=True), request_id="q-2")
        assert result_of(await ask(answering, queue, anyway, *GOOD)).state is AnswerState.ANSWERED

    async def test_without_any_passage_nothing_is_answered_anyway(self, answering: Answering, corpus: Corpus) -> None:
        corpus.passages = ()
        result = await answering.answer(asking(answer_anyway=True))
        assert result.skipped_reason is SkippedReason.NO_PASSAGES

    async def test_passages_too_large_for_a_message_name_the_field(self, answering: Answering, corpus: Corpus) -> None:
        corpus.passages = (whole("word " * 1_300_000),)
        with pytest.raises(InvalidRequest) as raised:
            await answering.answer(QUESTION)
        assert raised.value.reason == error_pb2.ERROR_REASON_LIMIT_EXCEEDED
        assert raised.value.field_errors[0].field == "retrieve.k"
