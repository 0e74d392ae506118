"""Answering, with a queue in memory: what callers are told, in which order, and what happens when they go away."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import error_pb2
from retrieval_server.errors import (
    Cancelled,
    Conflict,
    Expired,
    GroundwireError,
    InternalFault,
    InvalidRequest,
    NotFound,
    Overloaded,
    Unavailable,
)
from retrieval_server.generation.answer_jobs import answer_job_id
from retrieval_server.generation.answer_model import (
    AnswerMode,
    AnswerOptions,
    AnswerState,
    Delta,
    Event,
    Fallback,
    OnDisconnect,
    Question,
    Restarted,
    Result,
    Retrieved,
)
from retrieval_server.generation.answering import Answering
from retrieval_server.model import Passage, RetrieveQuery, RetrieveResult, SkippedReason
from retrieval_server.settings import ServerSettings
from tests.retrieval_server.generation.documents import whole
from tests.retrieval_server.generation.fake_queue import FakeQueue

PASSAGES = (
    whole("# Timeouts\n\nThe default request timeout is 30 seconds.\n", path="docs/a.md"),
    whole("Retries use exponential backoff, at most 5 attempts.\n", path="docs/b.md"),
)
GOOD = ("The default request ", "timeout is 30 seconds.")
BAD = ("Bananas ripen ", "in 9 days.")
OPTIONS = AnswerOptions(
    mode=AnswerMode.STUFF,
    fallback=Fallback.EXTRACTIVE,
    on_disconnect=OnDisconnect.CANCEL,
    max_completion_tokens=64,
    max_prompt_tokens=None,
    answer_anyway=False,
    timeout_s=30.0,
)
QUESTION = Question(RetrieveQuery("What is the default request timeout?"), OPTIONS, "q-1", b"hash", id_is_callers=True)
JOB_ID = answer_job_id("q-1")


def asking(**options: object) -> Question:
    return replace(QUESTION, options=replace(OPTIONS, **options))


class Corpus:
    """Retrieval that finds what it is told to."""

    broken_query = "a query that finds a fault"

    def __init__(self) -> None:
        self.passages: tuple[Passage, ...] = PASSAGES
        self.skipped_reason: SkippedReason | None = None
        self.call_count = 0

    async def retrieve(self, query: RetrieveQuery) -> RetrieveResult:
        self.call_count += 1
        if query.query == self.broken_query:
            raise ZeroDivisionError
        return RetrieveResult(self.passages[: query.k], 7, 3, 1.0, 0.9, self.skipped_reason, 0.001)


@pytest.fixture
def queue() -> FakeQueue:
    return FakeQueue()


@pytest.fixture
def corpus() -> Corpus:
    return Corpus()


@pytest.fixture
async def answering(queue: FakeQueue, corpus: Corpus) -> AsyncIterator[Answering]:
    answering = Answering(corpus.retrieve, queue, ServerSettings())
    yield answering
    await answering.close()


async def collect(events: AsyncIterator[Event]) -> list[Event]:
    collected = [event async for event in events]
    check_stream(collected)
    return collected


def check_stream(events: list[Event], after_sequence: int = 0) -> None:
    """What holds of every stream that ends well."""
    assert isinstance(events[-1].content, Result)
    assert sum(isinstance(event.content, Result) for event in events) == 1
    sequences = [event.sequence for event in events]
    assert sequences == sorted(set(sequences))
    if after_sequence == 0:
        assert isinstance(events[0].content, Retrieved)
        assert sum(isinstance(event.content, Retrieved) for event in events) == 1
        text = ""
        for event in events:
            text = "" if isinstance(event.content, Restarted) else text
            text += event.content.text if isinstance(event.content, Delta) else ""
        result = events[-1].content
        assert result.state is not AnswerState.ANSWERED or result.text == text


def kinds(events: list[Event]) -> list[str]:
    return [type(event.content).__name__ for event in events]


def result_of(events: list[Event]) -> Result:
    result = events[-1].content
    assert isinstance(result, Result)
    return result


async def ask(answering: Answering, queue: FakeQueue, question: Question, *deltas: str) -> list[Event]:
    events, _ = await asyncio.gather(collect(answering.stream(question)), queue.answer(*deltas))
    return events


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


class TestRequestIds:
    async def test_the_same_request_replays_the_finished_answer_byte_for_byte(
        self, answering: Answering, queue: FakeQueue, corpus: Corpus
    ) -> None:
        for deltas in (GOOD, BAD):
            question = replace(QUESTION, request_id=f"q-{len(deltas[0])}")
            first = await ask(answering, queue, question, *deltas)
            queue.worker_is_alive = False
            corpus.skipped_reason = SkippedReason.LOW_RELEVANCE
            assert await collect(answering.stream(question)) == first
            assert await collect(answering.attach(question.request_id, 0)) == first
            queue.worker_is_alive, corpus.skipped_reason = True, None
        assert (queue.enqueued_count, corpus.call_count) == (2, 2)

    async def test_another_request_under_the_same_id_is_a_conflict(
        self, answering: Answering, queue: FakeQueue
    ) -> None:
        await ask(answering, queue, QUESTION, *GOOD)
        with pytest.raises(Conflict):
            await answering.answer(replace(QUESTION, request_hash=b"another"))

    async def test_an_answer_that_no_job_made_replays_attaches_and_conflicts_too(
        self, answering: Answering, queue: FakeQueue, corpus: Corpus
    ) -> None:
        queue.worker_is_alive = False
        first = await collect(answering.stream(QUESTION))
        queue.worker_is_alive = True
        assert await collect(answering.stream(QUESTION)) == first
        assert await collect(answering.attach("q-1", 0)) == first
        assert await answering.cancel("q-1") is False
        assert corpus.call_count == 1
        with pytest.raises(Conflict):
            await answering.answer(replace(QUESTION, request_hash=b"another"))

    async def test_a_failure_is_not_replayed_but_tried_again(self, answering: Answering, queue: FakeQueue) -> None:
        async def work() -> None:
            job = await queue.next_job()
            await queue.end(job.job_id, job_pb2.JOB_OUTCOME_EXPIRED)

        await asyncio.gather(collect(answering.stream(QUESTION)), work())
        assert result_of(await ask(answering, queue, QUESTION, *GOOD)).state is AnswerState.ANSWERED
        assert queue.enqueued_count == 2

    async def test_callers_with_the_same_request_share_one_job(self, answering: Answering, queue: FakeQueue) -> None:
        one, other, _ = await asyncio.gather(
            collect(answering.stream(QUESTION)), collect(answering.stream(QUESTION)), queue.answer(*GOOD)
        )
        assert one == other
        assert queue.enqueued_count == 1

    @pytest.mark.parametrize("deltas", [GOOD, BAD])
    async def test_attaching_after_a_number_sends_only_what_came_later_and_always_the_result(
        self, answering: Answering, queue: FakeQueue, deltas: tuple[str, ...]
    ) -> None:
        events = await ask(answering, queue, QUESTION, *deltas)
        for after in range(events[-1].sequence + 2):
            attached = [event async for event in answering.attach("q-1", after)]
            expected = [event for event in events if event.sequence > after] or [events[-1]]
            assert attached == expected

    async def test_an_unknown_id_is_not_found(self, answering: Answering) -> None:
        with pytest.raises(NotFound):
            await collect(answering.attach("nobody", 0))
        with pytest.raises(NotFound):
            await answering.cancel("nobody")

    async def test_attaching_while_the_queue_is_away_says_so(
        self, answering: Answering, queue: FakeQueue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def give_up(_: str) -> AsyncIterator[job_pb2.JobEvent]:
            away = error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE
            yield job_pb2.JobEvent(ended=job_pb2.JobEnded(outcome=job_pb2.JOB_OUTCOME_FAILED, reason=away))

        monkeypatch.setattr(queue, "follow", give_up)
        with pytest.raises(Unavailable):
            await collect(answering.attach("q-1", 0))


class TestGoingAway:
    async def test_a_caller_that_leaves_cancels_its_job(self, answering: Answering, queue: FakeQueue) -> None:
        async with aclosing(answering.stream(QUESTION)) as events:
            await anext(events)
        await answering.close()
        assert queue.cancelled == [JOB_ID]

    async def test_a_caller_that_is_cancelled_while_waiting_cancels_its_job(
        self, answering: Answering, queue: FakeQueue
    ) -> None:
        call = asyncio.create_task(answering.answer(QUESTION))
        await queue.start((await queue.next_job()).job_id)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await answering.close()
        assert queue.cancelled == [JOB_ID]

    async def test_a_caller_that_wants_to_keep_its_job_leaves_it(self, answering: Answering, queue: FakeQueue) -> None:
        async with aclosing(answering.stream(asking(on_disconnect=OnDisconnect.KEEP))) as events:
            await anext(events)
        await queue.answer(*GOOD)
        assert queue.cancelled == []
        assert result_of(await collect(answering.attach("q-1", 0))).text == "".join(GOOD)

    async def test_a_job_that_somebody_else_waits_for_goes_on(self, answering: Answering, queue: FakeQueue) -> None:
        leaving, staying = answering.stream(QUESTION), answering.attach("q-1", 0)
        await anext(leaving)
        await anext(staying)
        await leaving.aclose()
        await queue.answer(*GOOD)
        rest = [event async for event in staying]
        assert result_of(rest).text == "".join(GOOD)
        assert queue.cancelled == []

    async def test_a_caller_that_is_back_at_once_keeps_its_job(self, answering: Answering, queue: FakeQueue) -> None:
        leaving, returning = answering.stream(QUESTION), answering.stream(QUESTION)
        await anext(leaving)
        await asyncio.gather(leaving.aclose(), anext(returning))
        await queue.answer(*GOOD)
        assert result_of([event async for event in returning]).text == "".join(GOOD)
        assert queue.cancelled == []

    async def test_the_last_one_to_leave_ends_it(self, answering: Answering, queue: FakeQueue) -> None:
        leaving, staying = answering.stream(QUESTION), answering.attach("q-1", 0)
        await anext(leaving)
        await anext(staying)
        await leaving.aclose()
        await staying.aclose()
        await answering.close()
        assert queue.cancelled == [JOB_ID]

    async def test_leaving_after_the_end_cancels_nothing(self, answering: Answering, queue: FakeQueue) -> None:
        await ask(answering, queue, QUESTION, *GOOD)
        await answering.close()
        assert queue.cancelled == []

    @pytest.mark.parametrize("policy", OnDisconnect)
    async def test_leaving_while_the_job_is_being_created_leaves_no_orphan(
        self, answering: Answering, queue: FakeQueue, policy: OnDisconnect
    ) -> None:
        queue.enqueue_gate.clear()
        call = asyncio.create_task(answering.answer(asking(on_disconnect=policy)))
        await queue.enqueue_entered.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        queue.enqueue_gate.set()
        await answering.close()
        assert queue.enqueued_count == 1
        assert queue.cancelled == ([JOB_ID] if policy is OnDisconnect.CANCEL else [])

    async def test_a_queue_that_is_away_does_not_disturb_who_leaves(
        self, answering: Answering, queue: FakeQueue
    ) -> None:
        events = answering.stream(QUESTION)
        await anext(events)
        queue.fail_with = Unavailable(error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE, "no Redis")
        await events.aclose()
        await answering.close()

    async def test_cancelling_ends_the_stream_with_its_state(self, answering: Answering) -> None:
        events = answering.stream(QUESTION)
        await anext(events)
        assert await answering.cancel("q-1") is True
        assert [event.content.state async for event in events if isinstance(event.content, Result)] == [
            AnswerState.CANCELLED
        ]
        assert await answering.cancel("q-1") is False


async def test_a_rendered_prompt_packs_what_the_budget_holds(answering: Answering, queue: FakeQueue) -> None:
    packed = await answering.render_prompt(QUESTION)
    assert packed.dropped_passage_indexes == ()
    assert packed.segments[-2].text.endswith(QUESTION.retrieve.query)
    assert queue.enqueued_count == 0
