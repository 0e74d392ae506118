"""Questions become the beginnings of their answers, or nothing where no rule fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.generation.questions.restating import restate

RESTATED = {
    "What is the default draught of a barge?": "The default draught of a barge is",
    "What's the default value of max_load in the lift method?": "The default value of max_load in the lift method is",
    "What are the two gates of the lock?": "The two gates of the lock are",
    "Which signal does the harbour office send at night?": "The signal the harbour office sends at night is",
    "What signals do barges send?": "The signals barges send are",
    "What flag is used to open a gate?": "The flag used to open a gate is",
    "What version is required for the crane?": "The version required for the crane is",
    "What determines whether the gate opens?": "Whether the gate opens is determined by",
    "What flag controls the gate?": "The flag that controls the gate is",
    "What conditions must be met for the gate to open?": "The conditions that must be met for the gate to open are",
    "What shape must a hull have?": "The shape a hull must have is",
    "What happens when the load is None?": "When the load is None,",
    "What happens to the crane if the wind rises?": "If the wind rises, the crane",
    "What should I do if the chain breaks?": "If the chain breaks, you should",
    "What does the lift method return?": "The lift method returns",
    "What does the lift method return when the load is None?": "When the load is None, the lift method returns",
    "What is the tide gauge used for?": "The tide gauge is used for",
    "How do I open the lock?": "You can open the lock by",
    "How can you moor my barge?": "You can moor your barge by",
    "How does the crane apply its brake?": "The crane applies its brake by",
    "How is the toll computed?": "The toll is computed by",
    "How many barges does the lock hold?": "The number of barges the lock holds is",
    "Where is the tide table kept?": "The tide table is kept in",
    "Where can I find the tide table?": "You can find the tide table in",
    "Why does the gate wait?": "The gate waits because",
    "When the load is None, what is the speed?": "When the load is None, the speed is",
    "What is the toll and how is it paid?": "The toll is",
}


@pytest.mark.parametrize(("question", "expected"), RESTATED.items())
def test_a_question_is_restated(question: str, expected: str) -> None:
    assert restate(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "",
        "?",
        "what",
        "Is the gate open?",
        "Can a barge turn?",
        "Explain the toll.",
        "What is? What?",
        "what type is the toll?",
    ],
)
def test_what_no_rule_fits_is_left_alone(question: str) -> None:
    assert restate(question) == ""


ASKING = ["what", "how", "is", "are", "does", "do", "the", "toll", "lock", "open", "by", "?", "when", ",", "I", "used"]


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(ASKING), max_size=14).map(" ".join)))
def test_nothing_breaks_it_and_it_adds_no_word_of_its_own(question: str) -> None:
    restated = restate(question)
    assert restated == restated.strip()
    assert "?" not in restated
