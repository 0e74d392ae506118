"""Files parsed as the server does it."""

from retrieval_server.corpus.documents.documents import ParsedDocument, ParseLimits, SkippedFile, parse_document

LIMITS = ParseLimits(max_file_bytes=2_000_000, max_line_chars=10_000, max_chunk_chars=400)


def parsed(path: str, data: bytes | str) -> ParsedDocument:
    document = parse_document(path, data if isinstance(data, bytes) else data.encode(), LIMITS)
    assert isinstance(document, ParsedDocument), document
    for chunk in document.chunks:
        assert document.decoded.text[chunk.span.start_char : chunk.span.end_char] == chunk.text
    return document


def skipped(path: str, data: bytes) -> str:
    document = parse_document(path, data, LIMITS)
    assert isinstance(document, SkippedFile), document
    return document.detail


def outline(document: ParsedDocument) -> list[tuple[tuple[str, ...], str]]:
    """Return (breadcrumbs, text) of each chunk."""
    return [(chunk.span.breadcrumbs, chunk.text) for chunk in document.chunks]
