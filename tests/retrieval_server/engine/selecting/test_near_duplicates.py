"""Passages that repeat an earlier one."""

import pytest

from retrieval_server.engine.selecting.near_duplicates import DistinctPassages
from retrieval_server.model import ContentKind, Passage

WORDS = [f"word{i}" for i in range(60)]
TEXT = " ".join(WORDS)


def passage(text: str, start: int = 0, document: str = "a") -> Passage:
    return Passage(
        f"{document}:{start}",
        document,
        f"{document}.md",
        start,
        start + len(text),
        1,
        1,
        text,
        (),
        "text",
        ContentKind.DOCS,
    )


def admitted(*passages: Passage) -> list[bool]:
    distinct = DistinctPassages()
    return [distinct.admits(one) for one in passages]


def test_a_copy_repeats_its_original_however_it_is_indented():
    assert admitted(passage(TEXT), passage(TEXT, document="b")) == [True, False]
    assert admitted(passage(TEXT), passage(TEXT.replace(" ", "\n  "), document="b")) == [True, False]


def test_a_copy_with_a_changed_word_repeats_and_one_with_more_changes_does_not():
    one_changed = " ".join([*WORDS[:-1], "other"])
    assert admitted(passage(TEXT), passage(one_changed, document="b")) == [True, False]
    some_changed = " ".join("x" if i % 10 == 0 else word for i, word in enumerate(WORDS))
    assert admitted(passage(TEXT), passage(some_changed, document="b")) == [True, True]


def test_the_same_words_in_another_order_say_something_else():
    assert admitted(passage(TEXT), passage(" ".join(reversed(WORDS)), document="b")) == [True, True]


def test_a_few_words_are_no_evidence_of_a_copy():
    assert admitted(passage("alpha beta"), passage("alpha beta", document="b")) == [True, True]


@pytest.mark.parametrize(("start", "is_distinct"), [(0, False), (5, False), (60, True), (5000, True)])
def test_a_span_that_lies_in_another_of_its_file_repeats_it(start: int, is_distinct: bool):
    text = "x" * 100
    assert admitted(passage(text), passage("y" * 100, start)) == [True, is_distinct]
    assert admitted(passage(text), passage("y" * 100, start, "b")) == [True, True]


def test_neighbours_with_the_overlap_that_chunks_have_are_distinct():
    assert admitted(passage("x" * 2000), passage("y" * 2000, 1900)) == [True, True]


def test_an_empty_text_is_like_nothing():
    assert admitted(passage(""), passage("", document="b"), passage("", 7)) == [True, True, True]
