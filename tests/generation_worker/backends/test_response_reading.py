"""Responses as better and worse servers send them: what becomes text, what is a failure, and what ends the reading."""

import asyncio

import pytest

from generation_worker.backends.backend import BackendUnavailableError
from generation_worker.engine.protocol import GenerationDone, GenerationError, GenerationFailed
from tests.generation_worker.backends.asking import failure_of, generate
from tests.generation_worker.backends.support import make_job
from tests.support.fake_openai import FakeOpenAi, Reply, delta, event, says


async def test_thoughts_and_what_follows_a_stop_are_not_shown():
    reply = Reply(
        [
            delta("", reasoning_content="secret thoughts"),
            delta("<thi"),
            delta("nk>secret"),
            delta(" thoughts</think>\n\nIt is 42"),
            delta(".\n"),
            delta("\nMore."),
        ],
        hangs=True,
    )
    with FakeOpenAi(reply) as remote:
        listener = await generate(remote.url, make_job(stops=["\n\n"]))
        assert await asyncio.to_thread(remote.left.wait, 60)
    assert listener.text == "It is 42."
    assert isinstance(listener.steps[-1], GenerationDone)


@pytest.mark.parametrize(
    "reply", [says("<think>on and", " on", finish_reason="length"), says(" ", "\n"), Reply([b"data: [DONE]\n\n"])]
)
async def test_an_answer_without_text_is_a_failure_so_that_another_may_write_one(reply: Reply):
    error = await failure_of(reply)
    assert isinstance(error, GenerationError)
    assert "wrote no text" in str(error)


@pytest.mark.parametrize(
    ("reply", "fragment"),
    [
        (Reply([b"data: {broken\n\n"]), "not JSON"),
        (Reply([b"data: [1]\n\n"]), "not a JSON object"),
        (Reply([b"data: " + b"[" * 9000 + b"\n\n"]), "not JSON"),
        (Reply([event(error={"message": "out of memory"})]), "tells of an error"),
        (Reply([delta("", "error")]), "tells of an error"),
        (Reply([event(id="x")]), "no list of choices"),
        (Reply([event(choices=["x"])]), "not a JSON object"),
        (Reply([b"data: \xff\n\n"]), "not UTF-8"),
        (Reply([b"data: " + b"x" * 2_000_000]), "a line has more than"),
        (Reply([b"<html>"], headers={"Content-Type": "text/html"}), "no stream of events"),
        (Reply([b"\x1f\x8b"], headers={"Content-Type": "text/event-stream", "Content-Encoding": "gzip"}), "compressed"),
        (Reply([delta("x" * 90_000)]), "far more text"),
    ],
)
async def test_nonsense_is_a_clear_failure(reply: Reply, fragment: str):
    error = await failure_of(reply)
    assert isinstance(error, BackendUnavailableError)
    assert fragment in str(error)


@pytest.mark.parametrize("reason", ["content_filter", "tool_calls"])
async def test_an_answer_that_the_other_side_will_not_write_is_a_failure(reason: str):
    error = await failure_of(says("Well", finish_reason=reason))
    assert isinstance(error, GenerationError)
    assert reason in str(error)


async def test_a_limit_that_the_other_side_reached_ends_the_answer_and_one_that_it_ignores_too():
    with FakeOpenAi(says("one two", finish_reason="length")) as remote:
        assert (await generate(remote.url)).text == "one two"
    with FakeOpenAi(Reply([delta("x ")] * 50, hangs=True)) as remote:
        listener = await generate(remote.url, make_job(max_completion_tokens=10))
    assert isinstance(listener.steps[-1], GenerationDone)
    assert len(listener.text.split()) == 11
    assert listener.steps[-1] == GenerationDone(11, prompt_tokens=None)  # counted, since nobody told


WHOLE = (delta("It is 42."), delta("", "stop"))


@pytest.mark.parametrize(
    "reply",
    [
        Reply(WHOLE),
        Reply(WHOLE, headers={"Content-Type": "text/event-stream", "Content-Length": "99999"}),
        Reply([*WHOLE, event(error={"message": "no usage today"})]),
        Reply([*WHOLE, b"data: {broken\n\n"]),
        Reply(WHOLE, hangs=True),
    ],
    ids=["no DONE", "cut short", "error", "nonsense", "silent"],
)
async def test_whatever_follows_the_end_of_the_text_does_not_void_it(reply: Reply):
    with FakeOpenAi(reply) as remote:
        listener = await generate(remote.url)
    assert listener.text == "It is 42."
    assert listener.steps[-1] == GenerationDone(1)


async def test_a_reason_that_is_empty_ends_nothing():
    with FakeOpenAi(Reply([delta("It is ", ""), delta("4", "")])) as remote:
        listener = await generate(remote.url)
    assert isinstance(listener.steps[-1], GenerationFailed)
    with FakeOpenAi(Reply([delta("It is ", ""), delta("42.", ""), b"data: [DONE]\n\n"])) as remote:
        assert (await generate(remote.url)).text == "It is 42."


async def test_halves_of_a_character_are_joined_and_what_is_none_is_replaced():
    with FakeOpenAi(says("a \ud83d", "\ude00 b", " \ude00 \ud83d")) as remote:
        listener = await generate(remote.url)
    assert listener.text == "a 😀 b � �"
    listener.text.encode()


async def test_thoughts_may_be_longer_than_the_answer():
    with FakeOpenAi(says("<think>", *["hm "] * 30, "</think>", "It is 42.")) as remote:
        assert (await generate(remote.url, make_job(max_completion_tokens=10))).text == "It is 42."
