"""Following a job from claim to claim: nothing is told twice or left out, also when an older state was put back."""

import asyncio
from contextlib import aclosing

import pytest

from generation_worker.claimed_job import Hold
from groundwire.internal.v1 import job_pb2
from groundwire.queue.ending import Ending, EndResult
from groundwire.queue.keys import PartitionKeys
from retrieval_server.generation.answers.answer_model import Delta, Restarted
from retrieval_server.generation.jobs import job_follower
from retrieval_server.generation.jobs.transcript import Transcript
from tests.generation_worker.harness import all_events, eventually, kind, next_job, put
from tests.groundwire.queue.stored_state import StoredState

KEYS = PartitionKeys(0)
FINISHED = Ending(job_pb2.JOB_OUTCOME_FINISHED)
TOLD = 10
"""The number of the last event that was told before the state was put back."""


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch):
    monkeypatch.setattr(job_follower, "FOLLOW_BLOCK_S", 0.05)


async def _write(job, *texts: str) -> None:
    assert await job.started(job_pb2.JobStarted(worker_id="w")) is Hold.OK
    for text in texts:
        assert await job.delta(text) is Hold.OK


@pytest.mark.parametrize("written_before", [0, 8, 12])
@pytest.mark.parametrize("is_ended", [False, True])
async def test_after_a_state_before_the_claim_was_put_back_all_of_the_new_attempt_is_told(
    queue, make_consumer, redis, written_before: int, is_ended: bool
):
    await put(queue, "j")
    state = StoredState(redis)
    await state.save()
    old = await next_job(make_consumer("w1"))
    await _write(old, *(f"old{number} " for number in range(TOLD - 2)))
    async with aclosing(queue.follow("j")) as events:
        seen = [await anext(events) for _ in range(TOLD)]
        await state.put_back()
        assert await old.delta("more") is Hold.LOST
        new = await next_job(make_consumer("w2"))
        texts = [f"new{number} " for number in range(14)]
        await _write(new, *texts[:written_before])
        if is_ended:
            texts = texts[:written_before]
            assert await new.end(FINISHED) is EndResult.ENDED
            later = [event async for event in events]
        else:
            async with asyncio.timeout(20):
                later = [await anext(events) for _ in range(written_before + 1)]
            for text in texts[written_before:]:
                await new.delta(text)
            assert await new.end(FINISHED) is EndResult.ENDED
            later += [event async for event in events]
    assert [kind(event) for event in seen].count("delta") == TOLD - 2
    assert later[-1].ended.text == "".join(texts)
    if len(later) > 1:  # of what has ended the end is enough
        assert [kind(event) for event in later] == ["started", *["delta"] * len(texts), "ended"]
        assert [event.delta.text for event in later[1:-1]] == texts
        assert _text_on_screen([*seen, *later[:-1]]) == "".join(texts)
    else:
        assert is_ended


def _text_on_screen(job_events: list[job_pb2.JobEvent]) -> str:
    transcript = Transcript(job_events[0].retrieved)
    text = ""
    for job_event in job_events[1:]:
        for event in transcript.follow(job_event):
            if isinstance(event.content, Delta):
                text += event.content.text
            elif isinstance(event.content, Restarted):
                text = ""
    return text


async def test_after_a_state_between_two_claims_was_put_back_what_both_wrote_is_told_from_there(
    queue, make_consumer, redis
):
    """The second worker's part was lost with it; a third goes on from the first one's."""
    await put(queue, "j")
    await _write(await next_job(make_consumer("w1", lease_s=0.1)), "a ")
    state = StoredState(redis)
    await state.save()
    async with aclosing(queue.follow("j")) as events:
        seen = [await anext(events) for _ in range(3)]
        await _write(await next_job(make_consumer("w2", lease_s=0.4)), "a ", "b ", "c ")
        seen += [await anext(events) for _ in range(4)]
        await state.put_back()
        third = await next_job(make_consumer("w3", lease_s=0.4))
        await _write(third, *"abcdef")
        async with asyncio.timeout(20):
            later = [await anext(events) for _ in range(7)]
        assert await third.end(FINISHED) is EndResult.ENDED
        later += [event async for event in events]
    assert [event.sequence for event in later] == list(range(4, 12))
    assert _text_on_screen([*seen, *later[:-1]]) == later[-1].ended.text == "abcdef"


@pytest.mark.parametrize("ends_by_caller", [False, True])
async def test_takeovers_and_hand_backs_are_told_once_however_far_a_caller_is(
    queue, make_consumer, ends_by_caller: bool
):
    await put(queue, "j")
    async with aclosing(queue.follow("j")) as slow:
        slow_seen = [await anext(slow)]
        eager_seen: list[job_pb2.JobEvent] = []

        async def follow_eagerly() -> None:
            async for event in queue.follow("j"):
                eager_seen.append(event)  # noqa: PERF401 - seen as they come

        async def all_told(count: int) -> None:
            async def are_told() -> bool:
                return len(eager_seen) == count

            await eventually(are_told, timeout_s=30, what=f"{count} events")
            await asyncio.sleep(0.12)  # and looks twice: nothing may come of it

        eager = asyncio.create_task(follow_eagerly())
        await _write(await next_job(make_consumer("w1", lease_s=0.1)), "a", "b")
        await all_told(4)
        second = await next_job(make_consumer("w2", lease_s=0.4))
        await all_told(4)
        await _write(second, "a")
        slow_seen += [await anext(slow) for _ in range(2)]
        await all_told(6)
        assert await second.hand_back() is Hold.OK
        await all_told(6)
        if ends_by_caller:
            await queue.cancel("j")
        else:
            third = await next_job(make_consumer("w3"))
            await third.started(job_pb2.JobStarted(worker_id="w3"))
            await third.delta("a")
            await third.started(job_pb2.JobStarted(worker_id="w3"), anew=True)
            await third.delta("z")
            await all_told(10)
            assert await third.end(FINISHED) is EndResult.ENDED
        slow_seen += [event async for event in slow]
        await eager
    late_seen = await all_events(queue.follow("j"))
    assert [event.sequence for event in eager_seen] == list(range(1, len(eager_seen) + 1))
    assert eager_seen == slow_seen == late_seen
    assert [event for event in late_seen if event.sequence > 3] == await all_events(queue.follow("j", 3))
