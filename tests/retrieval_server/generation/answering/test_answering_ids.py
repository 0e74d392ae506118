"""Answering, with a queue in memory: the same request again, and callers that go away."""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import error_pb2
from retrieval_server.errors import (
    Conflict,
    NotFound,
    Unavailable,
)
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.answers.answer_model import (
    AnswerMode,
    AnswerState,
    Fallback,
    OnDisconnect,
    Result,
)
from retrieval_server.generation.jobs import answer_jobs
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
    result_of,
)
from tests.retrieval_server.generation.fake_queue import FakeQueue


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

    async def test_attaching_while_the_queue_is_away_says_so(self, answering: Answering, queue: FakeQueue) -> None:
        queue.fail_with = Unavailable(error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE, "no Redis")
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

    async def test_leaving_while_the_job_is_being_created_ends_it_for_nobody_who_has_come_back(
        self, answering: Answering, queue: FakeQueue
    ) -> None:
        queue.enqueue_gate.clear()
        leaving = asyncio.create_task(answering.answer(QUESTION))
        await queue.enqueue_entered.wait()
        queue.enqueue_entered.clear()
        returning = asyncio.create_task(answering.answer(QUESTION))
        await queue.enqueue_entered.wait()
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        queue.enqueue_gate.set()
        await answering.close()
        async with asyncio.timeout(60):
            await queue.answer(*GOOD)
        assert (await returning).text == "".join(GOOD)
        assert (queue.enqueued_count, queue.cancelled) == (1, [])

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
    rendered = await answering.render_prompt(QUESTION)
    assert rendered.packing.dropped == ()
    assert rendered.prompt.segments[-2].text.endswith(QUESTION.retrieve.query)
    assert queue.enqueued_count == 0
    each = await answering.render_prompt(asking(mode=AnswerMode.RAG_TOKEN))
    assert len([segment for segment in each.prompt.segments if segment.text.endswith(QUESTION.retrieve.query)]) == 2


@pytest.mark.parametrize("fallback", [Fallback.EXTRACTIVE, Fallback.NONE])
async def test_a_job_that_no_worker_is_left_for_falls_back_unless_the_caller_wants_none(
    answering: Answering, queue: FakeQueue, monkeypatch: pytest.MonkeyPatch, fallback: Fallback
) -> None:
    monkeypatch.setattr(answer_jobs, "_WORKER_CHECK_S", 0.01)
    monkeypatch.setattr(answer_jobs, "_RESTART_GRACE_S", 0.01)

    async def die() -> None:
        job = await queue.next_job()
        await queue.start(job.job_id)
        await queue.say(job.job_id, GOOD[0])
        queue.worker_is_alive = False
        if fallback is Fallback.NONE:
            await asyncio.sleep(0.1)
            await queue.end(job.job_id, job_pb2.JOB_OUTCOME_EXPIRED)

    events, _ = await asyncio.gather(collect(answering.stream(asking(fallback=fallback))), die())
    result = result_of(events)
    if fallback is Fallback.NONE:
        assert result.state is AnswerState.EXPIRED
    else:
        assert result.state is AnswerState.ANSWERED
        assert result.generator.fallback_reason == error_pb2.ERROR_REASON_NO_WORKER
        assert result.citations
