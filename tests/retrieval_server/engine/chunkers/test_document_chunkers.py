"""Every chunker of documents and data: on any text its spans cover it, and no text takes longer than its length."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.retrieval_server.engine.chunkers.spans import assert_spans_cover, chunks_in
from tests.support.growth import assert_linear

FRAGMENTS = {
    "markdown": ["---\n", "title: A\n", "+++\n", "# B\n", "!!! note\n", "    inside\n", "::: module.name\n", "```\n"],
    "html": ["# A\n", "```\n", "text\n", "\\# b\n"],
    "restructuredtext": [
        "Title\n=====\n", "Sub\n---\n", "====\n", "Over\n", ".. _label:\n", ".. class:: A(b)\n", "   .. method:: c\n",
        "   body\n", "Example::\n", "    code\n", ".. setting:: X\n", ".. code-block:: rst\n", ":orphan:\n", ".. \n",
    ],
    "yaml": ["a:\n", "  b: 1\n", "- name: x\n", "  - y\n", "k: |\n", "---\n", "# c\n", "    d: 'e'\n", '"q": r\n'],
    "toml": ["[a]\n", "[[b.c]]\n", "k = 1\n", 's = """\n', '"""\n', "l = [\n", "]\n", "# c\n", "'", '"'],
    "json": ["{", "}", "[", "]", '"a"', ":", ",", "1", '"name"', "\n  ", '"', "\\", "//", "/*", "*/"],
    "jsonl": ['{"a": 1}\n', "\n", "[]\n"],
    "notebook": ["%% cell 1: markdown\n", "%% cell 2: code\n", "%% cell x\n", "# A\n", "```\n", "x = 1\n"],
    "pdf": ["\f", "\n\f\n", "page\n"],
}  # fmt: skip
COMMON = ["\n", "\r\n", "\r", " ", "\t", "word ", "東京", "🚀", "é", "x" * 70, "\x0c", "\u2028", "\x85", "\0"]
HOSTILE = {
    "restructuredtext": ["a\n=\n", "=\n", ".. _a:\n\n", ".. x:: y\n", ".. x:: y\n\n z\n", "::\n\n ", "..", ":a: ", "`"],
    "yaml": ["- ", "a: ", "? ", "#\n", "'", '"', "a:\n", "|", "&a *a ", "---\n"],
    "toml": ["[", "[[a]]\n", '"""', "'''", "= ", "a=", "\\", "[a]\n", "{", '"'],
    "json": ["[", "{", '{"a":', '"', '\\"', "/", "/*", ",", "]", '"a":'],
    "jsonl": ["{", "\n"],
    "markdown": ["---\n", "title: a\n", "`", "+++\n", "#", "=\n"],
    "notebook": ["%% cell 1: code\n", "%% cell 1: markdown\n", "%%"],
    "pdf": ["\f", "\f\n"],
}


@pytest.mark.parametrize("language", FRAGMENTS)
@given(data=st.data(), limit=st.integers(64, 300))
@settings(max_examples=100, deadline=None)
def test_spans_cover_all_that_is_not_blank_and_stay_within_the_limit(language: str, data: st.DataObject, limit: int):
    made = st.lists(st.sampled_from(FRAGMENTS[language] + COMMON), max_size=60).map("".join)
    assert_spans_cover(data.draw(st.one_of(made, st.text(max_size=400))), language, limit)


@pytest.mark.parametrize(("language", "repeated"), [(lang, text) for lang, texts in HOSTILE.items() for text in texts])
def test_time_grows_with_the_length_of_a_text_and_no_faster(language: str, repeated: str):
    chunk = partial(chunks_in, language=language)
    assert_linear(chunk, lambda length: repeated * (length // len(repeated)))
    assert_linear(chunk, lambda length: "a: " + " " * length + repeated)


@pytest.mark.parametrize("language", ["restructuredtext", "yaml", "json"])
def test_nesting_costs_no_more_than_its_length(language: str):
    line = {"restructuredtext": ".. class:: A", "yaml": "a:", "json": '{"a":'}[language]
    chunk = partial(chunks_in, language=language)
    assert_linear(chunk, lambda length: "".join(" " * i + f"{line}\n" for i in range(int((2 * length) ** 0.5))))
