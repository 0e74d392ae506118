"""Places in a text: lines, and bytes of UTF-8 as code points."""

import re

from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.engine.chunkers.char_offsets import CharOffsets
from retrieval_server.engine.chunkers.lines import LineIndex, with_line_feeds

TEXTS = st.text(st.sampled_from("a \t\n\r\x0b\x0c\x1c\x85\u2028é漢😀"), max_size=30)


@given(TEXTS)
def test_lines_end_with_lf_crlf_and_cr_and_with_nothing_else(text: str):
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", text)
    index = LineIndex(text)
    assert index.line_count == max(1, len(lines))
    assert index.longest_line_chars == max(map(len, lines), default=0)
    assert [index.line_of(offset) for offset in range(len(text))] == [
        number for number, line in enumerate(lines, start=1) for _ in line
    ]


@given(TEXTS)
def test_a_byte_is_at_the_code_point_that_begins_there(text: str):
    source = text.encode()
    offsets = CharOffsets(text, source)
    for char_offset in range(len(text) + 1):
        assert offsets[len(text[:char_offset].encode())] == char_offset


@given(TEXTS)
def test_line_feeds_take_the_place_of_lone_carriage_returns_and_nothing_moves(text: str):
    shown = with_line_feeds(text)
    assert len(shown) == len(text)
    assert [LineIndex(shown).line_of(i) for i in range(len(text))] == [
        LineIndex(text).line_of(i) for i in range(len(text))
    ]
    assert re.fullmatch(r"(?:[^\r]|\r\n)*", shown)
