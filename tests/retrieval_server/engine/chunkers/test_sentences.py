"""Chunks of n sentences."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval_server.engine.chunkers.lines import LineIndex
from retrieval_server.engine.chunkers.sentences import sentence_chunks

_FRAGMENTS = st.sampled_from(
    ["One. ", "Two two! ", "e.g. ", "3.5 ", "Dr. Ito ", "…", "?", "\n", "\r\n\r\n", "\r", "東京。", "「はい。」", "🚀",
     " ", "\t", "x" * 70, ".", '"', "\x0c", "\u2028"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=300), st.lists(_FRAGMENTS, max_size=50).map("".join))


def bodies(text: str, sentences_per_chunk: int, limit: int = 2000) -> list[str]:
    return [text[c.start_char : c.end_char] for c in sentence_chunks(text, LineIndex(text), sentences_per_chunk, limit)]


@given(text=TEXTS, sentences_per_chunk=st.integers(1, 5), limit=st.integers(64, 200))
@settings(max_examples=200, deadline=None)
def test_spans_cover_all_that_is_not_blank_and_stay_within_the_limit(text: str, sentences_per_chunk: int, limit: int):
    covered = bytearray(len(text))
    previous_start = -1
    for chunk in sentence_chunks(text, LineIndex(text), sentences_per_chunk, limit):
        assert 0 < chunk.end_char - chunk.start_char <= limit
        assert chunk.start_char > previous_start
        previous_start = chunk.start_char
        covered[chunk.start_char : chunk.end_char] = b"\1" * (chunk.end_char - chunk.start_char)
    assert all(covered[i] for i, char in enumerate(text) if not char.isspace())


def test_each_chunk_has_as_many_sentences_as_asked_for():
    text = "Berths open at six. Who signals?\nThe master does! Nobody else may. So be it."
    assert bodies(text, 1) == [
        "Berths open at six.",
        "Who signals?",
        "The master does!",
        "Nobody else may.",
        "So be it.",
    ]
    assert bodies(text, 2) == [
        "Berths open at six. Who signals?",
        "The master does! Nobody else may.",
        "So be it.",
    ]
    assert bodies(text, 9) == [text]


@pytest.mark.parametrize(
    "sentence",
    ["See e.g. the handbook.", "Dr. Ito signed it.", "It takes 3.5 hours.", "J. R. Smith came.", "Use gate.open now."],
)
def test_a_point_within_a_sentence_does_not_end_it(sentence: str):
    assert bodies(f"{sentence} Then it rained.", 1) == [sentence, "Then it rained."]


def test_a_blank_line_ends_a_sentence_without_a_point():
    assert bodies("  \n\nA heading\n\n  The first sentence\ngoes on. \n\n  The last", 1) == [
        "A heading",
        "The first sentence\ngoes on.",
        "The last",
    ]


def test_closing_marks_belong_to_their_sentence_and_cjk_needs_no_space():
    assert bodies('He said "no." (He did.) Then left.', 1) == ['He said "no."', "(He did.)", "Then left."]
    assert bodies("東京は首都です。「はい。」次の文。", 1) == ["東京は首都です。", "「はい。」", "次の文。"]


def test_a_sentence_above_the_limit_is_split():
    parts = bodies("word " * 100 + "end.", 1, 120)
    assert all(len(part) <= 120 for part in parts)
    assert len(parts) > 4


def test_nothing_and_blanks_have_no_chunks():
    assert bodies("", 1) == []
    assert bodies(" \n\n\t", 3) == []


def test_the_end_of_a_line_is_no_blank_line_whatever_ends_it():
    text = "A line\ngoes on\n\nanother one\ngoes on\n"
    for line_end in ("\n", "\r\n", "\r"):
        shown = [body.replace(line_end, "\n") for body in bodies(text.replace("\n", line_end), 1)]
        assert shown == ["A line\ngoes on", "another one\ngoes on"]


@pytest.mark.timeout(20)
def test_a_megabyte_of_points_takes_no_longer_than_other_text():
    assert len(bodies("." * 1_000_000 + "x", 1, 20_000)) > 50
