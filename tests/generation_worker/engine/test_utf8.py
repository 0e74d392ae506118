"""Text from bytes that are cut anywhere."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from generation_worker.engine.utf8 import Utf8Splitter


@given(st.text(), st.lists(st.integers(min_value=0, max_value=200)))
def test_text_survives_any_cut(text: str, cuts: list[int]):
    data = text.encode()
    splitter = Utf8Splitter()
    places = [0, *sorted(cut for cut in cuts if cut <= len(data)), len(data)]
    pieces = [splitter.feed(data[begin:end]) for begin, end in pairwise(places)]
    assert "".join(pieces) + splitter.finish() == text


@given(st.binary())
def test_bytes_that_are_no_text_become_replacement_characters(data: bytes):
    splitter = Utf8Splitter()
    text = "".join(splitter.feed(bytes([byte])) for byte in data) + splitter.finish()
    assert text == data.decode(errors="replace")
    text.encode()  # no lone surrogates: it travels in protobuf


def test_nothing_is_shown_of_an_incomplete_character():
    splitter = Utf8Splitter()
    assert [splitter.feed(bytes([byte])) for byte in "🙂".encode()] == ["", "", "", "🙂"]
    assert splitter.feed(b"\xf0\x9f") == ""
    assert splitter.finish() == "�"
