"""A single question without its courtesies, direct, with the names of the sentences around it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.generation.questions.rewriting import rewritten_question


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Hi, I use GateCrane. Could you tell me what its size is? Thanks!", "What is its size (GateCrane)?"),
        ("I was wondering whether the gate can be locked at night?", "Can the gate be locked at night?"),
        ("Can someone explain why max_load is ignored when it rains?", "Why is max_load ignored when it rains?"),
        ("I'd like to know what the maximum size of a message is.", "What is the maximum size of a message?"),
        ("Does anyone know where `max_load` is set, thanks in advance?", "Where is `max_load` set?"),
        ("My question is: how long is a lease", "How long is a lease?"),
        ("how do I start it please", "How do I start it?"),
        ("Do you know when the crane that is broken was built?", "When the crane that is broken was built?"),
    ],
)
def test_what_is_asked_is_left(question: str, expected: str) -> None:
    assert rewritten_question(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "What is the default of max_load?",
        "Which cranes are red?",
        "How does it work? And why is it slow?",
        "lease takeover",
        "Thanks!",
        "Hello",
        "tell me about leases",
        "",
        "?",
    ],
)
def test_what_is_direct_or_asks_nothing_stays_as_it_is(question: str) -> None:
    assert rewritten_question(question) == question


@given(st.text(max_size=200))
def test_something_is_always_left_to_search(question: str) -> None:
    assert rewritten_question(question).strip() or not question.strip()


def test_rewriting_again_changes_nothing() -> None:
    once = rewritten_question("Hey, please tell me where the gate is locked. Thank you so much!")
    assert once == "Where is the gate locked?"
    assert rewritten_question(once) == once


@pytest.mark.parametrize("run", [" ", ".", ", ", "- ", "!"])
def test_long_runs_of_one_character_take_no_time(run: str) -> None:
    question = f"How is it locked, thanks{run * (8000 // len(run))}x{run * (8000 // len(run))}y?"
    started_s = time.process_time()
    rewritten_question(question)
    assert time.process_time() - started_s < 0.5
