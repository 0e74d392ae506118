"""Any text by paragraph."""

import re

from retrieval_server.engine.chunkers.pieces import Piece

# Atomic, or CRLF would be taken for CR and the LF of an empty line.
_PARAGRAPH_END = re.compile(r"(?>\r\n|\r|\n)(?:[ \t]*+(?>\r\n|\r|\n))++")


def plain_pieces(text: str, max_chunk_chars: int) -> list[Piece]:  # noqa: ARG001  the signature of all chunkers
    """Return contiguous pieces that cover `text`, one a paragraph."""
    ends = [match.end() for match in _PARAGRAPH_END.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return [Piece(start, end) for start, end in zip([0, *ends], ends, strict=False) if end > start]
