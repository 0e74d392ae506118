"""Follow-ups are completed from the conversation by rule; questions that stand by themselves stay as they are."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.generation.questions.conversation import Turn, standalone_question

NAMED = [Turn("What is the default value of max_load in GateCrane?", "It is 4000.")]
PLAIN = [Turn("How do I open the outer lock?", "Turn the wheel.")]


@pytest.mark.parametrize(
    ("history", "question", "expected"),
    [
        (NAMED, "What about min_load?", "What is the default value of min_load in GateCrane?"),
        (
            NAMED,
            "And what about in the dry dock?",
            "What is the default value of max_load in GateCrane in the dry dock?",
        ),
        (NAMED, "How is it validated?", "How is max_load of GateCrane validated?"),
        (NAMED, "And its type?", "What is the type of max_load of GateCrane?"),
        (NAMED, "Its limits?", "What are the limits of max_load of GateCrane?"),
        (NAMED, "Where are its limits?", "Where are the limits of max_load of GateCrane?"),
        (NAMED, "Why?", "Why (max_load of GateCrane)?"),
        (PLAIN, "Who may do that?", "Who may do open outer lock?"),
        (NAMED, "Which tides does the harbour office publish?", "Which tides does the harbour office publish?"),
        ([], "And its type?", "And its type?"),
    ],
)
def test_a_follow_up_is_completed(history: list[Turn], question: str, expected: str) -> None:
    assert standalone_question(question, history) == expected


def test_follow_ups_build_on_each_other() -> None:
    history = [*NAMED, Turn("What about min_load?", "It is 1.")]
    assert standalone_question("Where is it defined?", history) == "Where is min_load of GateCrane defined?"


def test_no_conversation_makes_a_question_grow_without_end() -> None:
    def asked(name: str) -> str:
        return f"What about {f'{name} ' * 2000}?"

    history = [Turn(asked(name)) for name in ("a_b", "c_d", "e_f", "g_h")]
    assert standalone_question(asked("i_j"), history) == asked("i_j")
    often = [Turn("What is " + "a_b " * 900 + "?"), *(Turn(f"What about x_{n}?") for n in range(40))]
    assert len(standalone_question("What about " + "c_d " * 900 + "?", often)) <= 4000


@pytest.mark.parametrize(
    "question",
    [
        " " * 8000 + "x",
        f"what about x{' ' * 8000}y",
        f"what about x{'?' * 8000}y",
        "what about " * 700,
    ],
)
def test_long_runs_of_one_character_take_no_time(question: str) -> None:
    started_s = time.process_time()
    standalone_question(question, [*NAMED, Turn(question), *NAMED])
    assert time.process_time() - started_s < 1.0


@pytest.mark.parametrize("marks", [".", "-'"])
def test_what_follows_a_text_of_marks_takes_no_time(marks: str) -> None:
    started_s = time.process_time()
    standalone_question("and its size?", [Turn(marks * 10_000)])
    assert time.process_time() - started_s < 0.5


@given(
    st.lists(st.builds(Turn, st.text(max_size=40), st.text(max_size=40)), max_size=4), st.text(min_size=1, max_size=40)
)
def test_nothing_breaks_it_and_a_question_never_becomes_blank(history: list[Turn], question: str) -> None:
    assert standalone_question(question, history).strip() or not question.strip()
