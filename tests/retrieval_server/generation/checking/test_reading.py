"""What a question names or asks for that no passage holds is found, in any spelling; single plain words are not."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.generation.checking.reading import missing_words
from tests.retrieval_server.generation.documents import whole

PASSAGES = [
    whole("The `max_load_kg` of a GateCrane is 4000.\nCranes lift logs.", path="src/model_runner.md"),
    whole("Deployments run on Valkey: `gate open` lifts it, see /v1/gates and Harbour Bay.\n", path="b.md"),
]


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("What is max_load_kg of the GateCrane?", ()),
        ("What is maxLoadKg of the gate_crane in the ModelRunner?", ()),
        ("What is max_load_kg_v2?", ("max_load_kg_v2",)),
        ("How do I deploy it with Terraform on Valkey?", ("Terraform",)),
        ("Why is the limit 5000?", ("5000",)),
        ("Do they whisper?", ()),
        ("¿Terraform?", ()),
        ("Terraform?", ()),  # the first word of a sentence is written with a capital anyway
    ],
)
def test_names(question: str, missing: tuple[str, ...]) -> None:
    assert missing_words(question, PASSAGES) == missing


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("What does --max-load-kg do?", ()),
        ("What does --max-gate-load do?", ("max-gate-load",)),  # whose words all stand there
        ("What does the /v1/gates endpoint return?", ()),
        ("What does the /v1/cranes endpoint return?", ("/v1/cranes",)),
        ("What does crane.load.max-deployments mean?", ("max-deployments",)),
        ("When does Harbour Bay open?", ()),
        ("When does Harbour Crane open?", ("Harbour Crane",)),
    ],
)
def test_names_of_several_words_stand_together_or_not_at_all(question: str, missing: tuple[str, ...]) -> None:
    assert missing_words(question, PASSAGES) == missing


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("What does the gate open command do?", ()),
        ("What does the gate crane command do?", ("gate crane",)),
        ("Which shell command lifts the gate?", ()),
    ],
)
def test_a_command_stands_after_its_program(question: str, missing: tuple[str, ...]) -> None:
    assert missing_words(question, PASSAGES) == missing


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("How many logs does a crane lift?", ()),
        ("How many people lift the logs?", ("people",)),
        ("How many passengers boarded the crane?", ("passengers", "passengers boarded")),
        ("How much money was given to the crane?", ("money",)),
        ("How many times is a log lifted?", ()),
        ("How many?", ()),
    ],
)
def test_what_is_to_be_counted(question: str, missing: tuple[str, ...]) -> None:
    assert missing_words(question, PASSAGES) == missing


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("How do I limit the network bandwidth of a crane?", ("network bandwidth",)),
        ("How do I limit the bandwidth of a network?", ()),  # not side by side, each may be said in other words
        ("How do I limit the crane bandwidth?", ()),
        ("What is the default value of the parameter?", ()),  # such words say what is asked for, not of what
    ],
)
def test_two_plain_words_side_by_side(question: str, missing: tuple[str, ...]) -> None:
    assert missing_words(question, PASSAGES) == missing


def test_without_passages_every_name_is_missing() -> None:
    assert missing_words("What is max_load?", []) == ("max_load",)


@pytest.mark.parametrize("text", ["Aa ", "Aa. "])
def test_a_long_question_takes_no_more_than_its_length(text: str) -> None:
    question = text * (32_000 // len(text))
    started_s = time.process_time()
    missing_words(question, PASSAGES)
    assert time.process_time() - started_s < 2.0


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_is_read(question: str, text: str) -> None:
    assert all(missing_words(question, [whole(text, path="a.md")] if text.strip() else []))
