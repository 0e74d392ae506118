"""A question condensed by a model before it is searched: who is asked what, and who is told."""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from groundwire.v1 import answer_pb2
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.questions.condensing import Condensing, CondensingMethod
from tests.retrieval_server.generation.answering.condensing_support import (
    ASKED,
    CONDENSED,
    TALK,
    asked_of,
    by_rule,
    condense,
)
from tests.retrieval_server.generation.answering.support import (
    GOOD,
    QUESTION,
    Corpus,
    collect,
    result_of,
)
from tests.retrieval_server.generation.fake_queue import FakeQueue


async def test_the_model_s_question_is_searched_answered_and_shown(
    answering: Answering, queue: FakeQueue, corpus: Corpus
) -> None:
    result = await asked_of(answering, queue, ASKED, "What is the default ", "of the request timeout?")
    assert result.question == CONDENSED
    assert result.retrieved.condensing == Condensing(CondensingMethod.MODEL, model="fake-135m")
    condensing, answered = queue.jobs.values()
    assert condensing.question == TALK.typed
    assert [(turn.question, turn.answer) for turn in condensing.condensing.history] == [
        ("How is the request timeout set?", "By a number of seconds.")
    ]
    assert not condensing.passages
    assert 0 < condensing.max_completion_tokens < 200
    assert condensing.temperature == 0
    assert list(condensing.stops) == ["\n"]
    assert condensing.caller == answered.caller == ASKED.caller
    assert condensing.priority == answer_pb2.ANSWER_PRIORITY_INTERACTIVE
    assert answered.question == CONDENSED
    assert corpus.call_count == 1


async def test_who_asks_again_or_attaches_is_told_the_same_and_no_model_is_asked(
    answering: Answering, queue: FakeQueue
) -> None:
    first = await asked_of(answering, queue, ASKED, CONDENSED)
    assert result_of(await collect(answering.stream(ASKED))) == first
    assert result_of(await collect(answering.attach("q-1", 0))) == first
    assert queue.enqueued_count == 2


async def test_without_a_conversation_to_read_nothing_is_asked(answering: Answering, queue: FakeQueue) -> None:
    how = await by_rule(answering, queue, QUESTION)
    assert how == Condensing()
    assert queue.enqueued_count == 1


async def test_a_caller_that_leaves_meanwhile_leaves_no_job_behind(answering: Answering, queue: FakeQueue) -> None:
    queue.enqueue_gate.clear()
    for is_running in (False, True):
        async with asyncio.timeout(60):
            leaving = asyncio.create_task(answering.answer(ASKED))
            await queue.enqueue_entered.wait()
            if is_running:
                await queue.start((await queue.next_job()).job_id)
            leaving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaving
            queue.enqueue_gate.set()
            await answering.close()
    [job_id] = queue.jobs
    assert queue.cancelled == [job_id, job_id]


async def test_two_calls_of_one_id_ask_one_model_and_one_that_leaves_does_not_end_it_for_the_other(
    answering: Answering, queue: FakeQueue
) -> None:
    leaving = asyncio.create_task(answering.answer(ASKED))
    staying = asyncio.create_task(answering.answer(ASKED))
    condensing = await queue.next_job()
    await queue.start(condensing.job_id)
    await queue.wait_until_followed_to(2)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    await answering.close()
    await queue.say(condensing.job_id, CONDENSED)
    await queue.end(condensing.job_id, text=CONDENSED)
    await queue.answer(*GOOD)
    result = await staying
    assert (result.question, queue.enqueued_count, queue.cancelled) == (CONDENSED, 2, [])


async def test_a_failed_call_may_use_its_id_anew_for_another_question(answering: Answering, queue: FakeQueue) -> None:
    async with aclosing(answering.stream(ASKED)) as events:
        await asyncio.gather(anext(events), condense(queue, CONDENSED))
    await answering.close()
    other = replace(ASKED, for_model=replace(TALK, typed="And its default number?"), request_hash=b"another")
    result = await asked_of(answering, queue, other, "What is the default number of the request timeout?")
    assert result.question == "What is the default number of the request timeout?"


async def test_a_prompt_is_shown_without_asking_a_model(answering: Answering, queue: FakeQueue) -> None:
    rendered = await answering.render_prompt(ASKED)
    assert QUESTION.retrieve.query in "".join(segment.text for segment in rendered.prompt.segments)
    assert queue.enqueued_count == 0
