"""What is shown of a model's text, however it is cut into tokens."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generation_worker.engine.text_filter import TextFilter

STOPS = ("<|im_end|>", "STOP", "\nQuestion:", "\n\n\n")
# Pieces that often form markers, whole and broken.
fragments = st.sampled_from(
    ["<think>", "</think>", "<|im_end|>", "<|im_", "end|>", "ST", "OP", "STOP", "\nQuest", "ion:", "<th", "ink>", "</"]
)
texts = st.lists(st.one_of(fragments, st.text(alphabet="ab <>/|\n", max_size=4)), max_size=8).map("".join)


def shown(pieces: list[str]) -> list[str]:
    text_filter = TextFilter(STOPS)
    return [*(text_filter.feed(piece) for piece in pieces), text_filter.finish()]


@given(texts, st.lists(st.integers(min_value=0, max_value=60)))
def test_the_cut_does_not_matter(text: str, cuts: list[int]):
    places = [0, *sorted(cut for cut in cuts if cut <= len(text)), len(text)]
    pieces = [text[begin:end] for begin, end in pairwise(places)]
    assert "".join(shown(pieces)) == "".join(shown([text])) == "".join(shown(list(text)))


@given(texts)
def test_neither_stop_strings_nor_spaces_around_are_ever_shown(text: str):
    result = "".join(shown(list(text)))
    assert result == result.strip()
    if "<think>" not in text:
        assert not any(stop in result for stop in STOPS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("  padded \n", "padded"),
        ("two  words", "two  words"),
        ("answer<|im_end|>more", "answer"),
        ("answer STO", "answer STO"),
        ("answer STOP it", "answer"),
        ("<think>\nhm, STOP\n</think>\n\nanswer", "answer"),
        ("a <think>x</think>b <think>y", "a b"),
        ("a </think> b", "a </think> b"),
        ("<think><think></think>a", "a"),
        ("it is 1.\nQuestion: what", "it is 1."),
        ("it is 1.\n\n\nmore", "it is 1."),
        ("\n\n\nanswer", "answer"),
        ("<think>\n\n\n</think>\n\n\n\nanswer\n\n\nmore", "answer"),
        (" <think>x", ""),
        ("<|im_end|>", ""),
        ("", ""),
    ],
)
def test_examples(text: str, expected: str):
    assert "".join(shown(list(text))) == expected


def test_text_is_shown_as_soon_as_it_can_be_nothing_else():
    assert shown(["one", " two", " ST", "ART", " <thin", "g>"]) == ["one", " two", "", " START", "", " <thing>", ""]


def test_nothing_is_shown_after_a_stop():
    text_filter = TextFilter(STOPS)
    assert text_filter.feed("a STOP b") == "a"
    assert text_filter.is_stopped
    assert text_filter.feed("c") == text_filter.finish() == ""
