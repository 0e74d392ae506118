"""What holds of the spans of every chunker."""

from retrieval_server.engine.chunkers import Chunk, LineIndex, chunk_text


def chunks_in(text: str, language: str, limit: int = 2000) -> list[Chunk]:
    return chunk_text(text, LineIndex(text), language, limit)


def outline(text: str, language: str, limit: int = 2000) -> list[tuple[tuple[str, ...], str]]:
    """Return (breadcrumbs, first line) of each chunk."""
    return [
        (chunk.breadcrumbs, text[chunk.start_char : chunk.end_char].splitlines()[0])
        for chunk in chunks_in(text, language, limit)
    ]


def assert_spans_cover(text: str, language: str, limit: int) -> None:
    """Spans are in order, hold no more than the limit, are not blank, and leave out nothing but blanks."""
    covered = bytearray(len(text))
    previous_start = -1
    for chunk in chunks_in(text, language, limit):
        assert 0 < chunk.end_char - chunk.start_char <= limit
        assert chunk.start_char > previous_start
        previous_start = chunk.start_char
        covered[chunk.start_char : chunk.end_char] = b"\1" * (chunk.end_char - chunk.start_char)
        assert text[chunk.start_char : chunk.end_char].strip()
    assert all(covered[at] or char.isspace() for at, char in enumerate(text))
