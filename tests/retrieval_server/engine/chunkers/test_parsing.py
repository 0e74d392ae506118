"""The time of a parse grows with the text and not faster, whatever the text."""

import random
import time

import pytest

from retrieval_server.engine.chunkers.syntaxes import SYNTAXES
from tests.retrieval_server.engine.chunkers.spans import assert_spans_cover, chunks_in

# Each of these takes minutes or gigabytes in some language when it is parsed as it stands.
REPEATED = [
    "(",
    "{",
    "<",
    "a<",
    "a<b,",
    "a=>",
    "a|",
    "x?",
    ";!",
    "if(a)",
    "class A{",
    '"',
    "${",
    "#if A\n",
    "\0",
    "@a ",
]


@pytest.mark.parametrize("language", SYNTAXES)
def test_what_only_repeats_itself_costs_no_more_than_other_text(language: str):
    for repeated in REPEATED:
        began_s = time.thread_time()
        chunks = chunks_in(repeated * (200_000 // len(repeated)), language)
        assert (repeated, time.thread_time() - began_s) < (repeated, 10)
        assert len(chunks) < 400


def test_a_megabyte_of_parentheses_is_text_like_any_other():
    for language in SYNTAXES:
        assert_spans_cover("(" * 1_000_000, language, 2000)


@pytest.mark.parametrize("language", SYNTAXES)
def test_a_parse_that_costs_far_more_than_real_code_is_given_up(language: str):
    chosen = random.Random(7)
    tokens = ["(", "[", "{", "a<", "!", "=", "> ", "|", "a ", ";", "if(", "$(", "\n", "'", '"']
    text = "".join(chosen.choices(tokens, k=20_000))
    began_s = time.thread_time()
    chunks_in(text, language)
    assert time.thread_time() - began_s < 10


@pytest.mark.parametrize("language", SYNTAXES)
def test_nesting_deeper_than_any_hand_writes_is_cut_all_the_same(language: str):
    text = "".join(f"namespace a{i} {{ class B{i} {{ mod c{i} {{\n" for i in range(400))
    assert_spans_cover(text, language, 300)


def test_what_surrounds_a_table_of_zeros_keeps_its_names():
    text = (
        "int before(int a) { return a; }\nint table[] = {\n"
        + "  0, 0, 0, 0,\n" * 400
        + "};\nint after() { return 1; }\n"
    )
    found = chunks_in(text, "c")
    assert found[0].names[0] == "before"
    assert found[-1].breadcrumbs == ("after",)
    assert ("table",) in {c.breadcrumbs for c in found}
