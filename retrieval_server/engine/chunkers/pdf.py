"""A PDF by page. Its text is what was extracted, page after page."""

from retrieval_server.engine.chunkers.pieces import Piece

PAGE_END = "\f"
"""Stands alone in the line between two pages, and nowhere else."""


def pdf_pieces(text: str, max_chunk_chars: int) -> list[Piece]:  # noqa: ARG001  the signature of all chunkers
    """Return contiguous pieces that cover `text`, one a page; pages count from 1."""
    pieces: list[Piece] = []
    start = 0
    while start < len(text):
        page_end = text.find(PAGE_END, start)
        end = page_end + 1 if page_end >= 0 else len(text)
        pieces.append(Piece(start, end, (f"page {len(pieces) + 1}",)))
        start = end
    return pieces
