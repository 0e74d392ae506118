"""Files to documents."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval_server.corpus.documents.documents import (
    ParsedDocument,
    ParseLimits,
    SkippedFile,
    parse_document,
    path_problem,
)
from retrieval_server.model import ContentKind

LIMITS = ParseLimits(max_file_bytes=10_000, max_line_chars=1000, max_chunk_chars=200)


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        (b"", "empty"),
        (b" \n\t\n", "blank"),
        (b"\x7fELF\0\0", "binary"),
        (b"x" * 10_001, "10,001 bytes, more than 10,000"),
        (b"y" * 1001, "a line of 1,001 characters, more than 1,000"),
    ],
)
def test_what_is_not_taken_has_a_reason(data: bytes, detail: str):
    assert parse_document("a.txt", data, LIMITS) == SkippedFile("a.txt", detail)


def test_a_document_knows_its_language_kind_and_lines():
    document = parse_document("src/a.py", b"x = 1\r\ny = 2\r\n", LIMITS)
    assert isinstance(document, ParsedDocument)
    assert (document.language, document.kind, document.line_count) == ("python", ContentKind.CODE, 2)
    assert document.decoded.text == "x = 1\r\ny = 2\r\n"


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=600))
@settings(deadline=None)
def test_a_chunk_is_the_text_at_its_span(text: str):
    document = parse_document("notes.md", text.encode(), LIMITS)
    if isinstance(document, ParsedDocument):
        for chunk in document.chunks:
            assert document.decoded.text[chunk.span.start_char : chunk.span.end_char] == chunk.text


@pytest.mark.parametrize("path", ["", "/etc/passwd", "a/../b", "a//b", "./a", "a\\b", "a\0b", "x" * 5000])
def test_bad_paths_have_a_problem(path: str):
    assert path_problem(path)


@pytest.mark.parametrize("path", ["a", "a/b.py", "..a/b..", "ü/東京.md", "with space/x"])
def test_good_paths_have_none(path: str):
    assert path_problem(path) is None
