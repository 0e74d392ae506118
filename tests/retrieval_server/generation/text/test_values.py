"""Values are read from the syntax of code, verbatim, with the lines that state them."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.generation.text.values import read_values
from retrieval_server.model import ContentKind
from tests.retrieval_server.generation.checking.test_citations import documents_cut_into_passages
from tests.retrieval_server.generation.documents import whole

CRANE = '''\
MAX_LOAD_KG: int = 4_000
#define GATE_COUNT 6

class Crane:
    """Lifts loads; speed: how fast."""

    def lift(self, load_kg: float, speed: str = "slow", dry_run: bool = False) -> bool:
        self.speed = speed
        brake = getattr(self.config, "brake_force", 0.75)
        return self.winch.lift(load_kg=load_kg, speed="fast")

    def weigh(self, axles: list[int] | None = None, *, unit="kg") -> dict[str, float]:
        ...
'''
STATED = {
    "What is the default value of speed in Crane.lift?": ['"slow"'],
    "What is the default value of the dry_run parameter?": ["False"],
    "What is the default value of brake_force in the config?": ["0.75"],
    "What is the constant value of MAX_LOAD_KG?": ["4_000"],
    "What is the value of GATE_COUNT?": ["6"],
    "What are the default values of the axles and unit parameters in weigh?": ["None", '"kg"'],
    "What is the type hint for the axles parameter in weigh?": ["list[int] | None"],
    "What is the return type of weigh?": ["dict[str, float]"],
}


@pytest.mark.parametrize(("question", "values"), STATED.items())
def test_a_stated_value_is_read(question: str, values: list[str]) -> None:
    found = read_values(question, [whole(CRANE, path="crane.py", kind=ContentKind.CODE)])
    assert [one.value for one in found] == values
    for one in found:
        assert one.value in CRANE[one.start : one.end]


@pytest.mark.parametrize(
    "question",
    [
        "How does the crane lift?",
        "What is the default value of anchor_depth?",
        "What value does lift return when dry_run is True?",
        "",
    ],
)
def test_what_is_not_asked_or_not_stated_is_not_read(question: str) -> None:
    assert read_values(question, [whole(CRANE, path="crane.py", kind=ContentKind.CODE)]) == ()


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("Default: 4.", "4"),
        ("+ Default: `1048576` (1MiB)", "1048576"),
        ("- **Default**: ``{}`` (empty mapping).", "{}"),
        ("Default value: No limit, unless the port is full.", "No limit"),
        ("*Default:* /var/lib/gate.d", "/var/lib/gate.d"),
    ],
)
def test_a_section_states_the_default_of_the_setting_that_it_is_about(line: str, value: str) -> None:
    section = whole(f"Some words.\n\n{line}\n\nThe default is seldom wrong.\n")
    about = replace(section, breadcrumbs=("Settings", "`gate_limit`"))
    code = whole("config = Config(gate_limit=limit)\n", path="gate.py", kind=ContentKind.CODE)
    for question in ("What is the default value of gate_limit?", "what is the default gate limit?"):
        (found,) = read_values(question, [code, about])
        assert (found.passage_index, found.value) == (1, value)
        assert section.text[found.start : found.end].startswith(line[:8])
    assert read_values("What is the default of the tide limit?", [about]) == ()
    assert read_values("What is gate_limit?", [about]) == ()


def test_prose_states_no_values() -> None:
    assert read_values("What is the default value of max_load?", [whole("max_load = 3 in most ports.")]) == ()


@pytest.mark.parametrize("text", ["a ", "in a.", "if ", "/a", "a's "])
def test_a_long_question_takes_no_more_than_its_length(text: str) -> None:
    started_s = time.process_time()
    read_values("What is the default value of max_load? " + text * (8000 // len(text)), [whole(CRANE)])
    assert time.process_time() - started_s < 1.0


def test_of_very_many_names_the_first_are_looked_for() -> None:
    names = " ".join(f"a_{number}" for number in range(1000))
    code = whole("a_0 = 3\na_999 = 4\n", path="a.py", kind=ContentKind.CODE)
    assert [one.value for one in read_values(f"What are the values of {names}?", [code])] == ["3"]


@given(documents_cut_into_passages(), st.text(max_size=30))
def test_every_value_stands_in_the_lines_that_are_given_for_it(cut: tuple, rest: str) -> None:
    _, passages = cut
    for one in read_values(f"What is the default value of x and of {rest}?", passages):
        assert one.value in passages[one.passage_index].text[one.start : one.end]
