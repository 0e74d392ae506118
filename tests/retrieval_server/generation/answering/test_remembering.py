"""Which answers are kept for equal questions: generated ones that passed their check, whole."""

import asyncio

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import error_pb2
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.answers.answer_model import Fallback
from tests.retrieval_server.generation.answering.support import BAD, GOOD, JOB_ID, QUESTION, ask, asking, collect
from tests.retrieval_server.generation.fake_queue import FakeQueue


async def test_a_good_answer_is_kept(answering: Answering, queue: FakeQueue) -> None:
    await ask(answering, queue, QUESTION, *GOOD)
    assert queue.remembered == [JOB_ID]


async def test_an_answer_that_fails_its_check_is_not_kept(answering: Answering, queue: FakeQueue) -> None:
    await ask(answering, queue, QUESTION, *BAD)
    assert queue.remembered == []


async def test_nor_is_one_that_is_returned_although_it_failed(answering: Answering, queue: FakeQueue) -> None:
    await ask(answering, queue, asking(fallback=Fallback.NONE), *BAD)
    assert queue.remembered == []


async def test_nor_one_whose_job_failed(answering: Answering, queue: FakeQueue) -> None:
    async def fail() -> None:
        job = await queue.next_job()
        await queue.end(job.job_id, job_pb2.JOB_OUTCOME_FAILED, reason=error_pb2.ERROR_REASON_GENERATION_FAILED)

    await asyncio.gather(collect(answering.stream(QUESTION)), fail())
    assert queue.remembered == []
