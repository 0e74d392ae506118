"""A notebook by cell. Its text is what was extracted: a marker line before each cell, code in fences, no outputs."""

import re

from retrieval_server.engine.chunkers.markdown import sections_of, titles_of
from retrieval_server.engine.chunkers.pieces import Piece

_MARKER = re.compile(r"^%% cell \d{1,9}+: (\w++)$", re.MULTILINE)
_MARKDOWN = "markdown"


def cell_marker(number: int, kind: str) -> str:
    """Return the line that stands before cell `number`, from 1, of a kind: "markdown", "code" or "raw"."""
    return f"%% cell {number}: {kind}"


def notebook_pieces(text: str, max_chunk_chars: int) -> list[Piece]:  # noqa: ARG001  the signature of all chunkers
    """Return contiguous pieces that cover `text`, one a cell; headings cut Markdown cells and are the breadcrumbs."""
    markers = list(_MARKER.finditer(text))
    chain: list[tuple[int, str]] = []
    ends = (*(marker.start() for marker in markers), len(text))
    pieces = [Piece(0, ends[0])]
    for marker, end in zip(markers, ends[1:], strict=True):
        if marker.group(1) == _MARKDOWN:
            pieces += sections_of(text, marker.start(), marker.end(), end, chain)
        else:
            pieces.append(Piece(marker.start(), end, titles_of(chain)))
    return [piece for piece in pieces if piece.end > piece.start]
