"""What the tests of condensing share: a follow-up, and a model that makes a question of it, or does not."""

import asyncio
from dataclasses import replace

from groundwire.internal.v1 import job_pb2
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.answers.answer_model import Question, Result
from retrieval_server.generation.questions.condensing import Condensing, CondensingMethod, Conversation
from retrieval_server.generation.questions.conversation import Turn
from tests.retrieval_server.generation.answering.support import GOOD, QUESTION, collect, result_of
from tests.retrieval_server.generation.fake_queue import FakeQueue

TALK = Conversation("And its default?", (Turn("How is the request timeout set?", "By a number of seconds."),))
CONDENSED = "What is the default of the request timeout?"
ASKED = replace(QUESTION, for_model=TALK, caller="name port office")


async def condense(queue: FakeQueue, *text: str) -> job_pb2.GenerationJob:
    """Do the next job, which condenses."""
    async with asyncio.timeout(60):
        job = await queue.next_job()
        assert job.HasField("condensing")
        await queue.answer(*text)
        return job


async def asked_of(answering: Answering, queue: FakeQueue, question: Question, *text: str) -> Result:
    """Ask, have it condensed to `text`, and answered."""

    async def work() -> None:
        await condense(queue, *text)
        await queue.answer(*GOOD)

    events, _ = await asyncio.gather(collect(answering.stream(question)), work())
    return result_of(events)


async def by_rule(answering: Answering, queue: FakeQueue, question: Question = ASKED) -> Condensing:
    """Ask what no model condenses, and have it answered as the rule says."""
    result, _ = await asyncio.gather(answering.answer(question), queue.answer(*GOOD))
    assert result.text == "".join(GOOD)
    assert result.question == QUESTION.retrieve.query
    how = result.retrieved.condensing
    assert how.method is CondensingMethod.RULE
    assert not how.model
    return how
