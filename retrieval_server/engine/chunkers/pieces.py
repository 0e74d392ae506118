"""From a text cut into contiguous pieces to chunks of a bounded size.

A chunker for one format only says where the format's own borders are, as pieces; merging, splitting, trimming and
line numbers are the same for all formats and live here.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from retrieval_server.engine.chunkers.breadcrumbs import bounded
from retrieval_server.engine.chunkers.lines import LineIndex

OVERLAP_CHARS = 100

# A split is moved back to the best border within the last part of the window: a blank line, else a line, else a space.
_SEARCH_BACK_SHARE = 0.5
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


class Piece(NamedTuple):
    """A run of text [start, end) in code points that should stay together.

    `breadcrumbs` name what encloses it; `name` is what it defines itself, if anything. Pieces with equal
    `breadcrumbs` may share a chunk. `owners` qualify `name` below the breadcrumbs and keep no neighbours apart: the
    namespace around a function, the type that a Go method belongs to. `members` are defined inside what `name` names.
    `opens` are what begins here and is too large for one chunk: its first chunk is found by them, not those after.
    """

    start: int
    end: int
    breadcrumbs: tuple[str, ...] = ()
    name: str = ""
    owners: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()


class Chunk(NamedTuple):
    """A span of a document that can be a passage; offsets as in Piece, lines from 1 and inclusive.

    A tuple, since it travels between processes by the thousand: a frozen dataclass takes twice as long to.
    """

    start_char: int
    end_char: int
    start_line: int
    end_line: int
    breadcrumbs: tuple[str, ...]
    names: tuple[str, ...]


def chunks_of(text: str, lines: LineIndex, pieces: Sequence[Piece], max_chunk_chars: int) -> list[Chunk]:
    """Return chunks of at most `max_chunk_chars` code points that cover all non-blank text of `pieces`, in order.

    Lines of `text` end with LF or CRLF: `with_line_feeds` sees to that.
    Neighbours with equal breadcrumbs are merged while they fit; a piece that is too large is split at blank lines,
    lines or spaces, with OVERLAP_CHARS of overlap.
    """
    chunks: list[Chunk] = []
    for group in _merged(pieces, max_chunk_chars):
        labels, names = _labels(group)
        breadcrumbs = bounded(labels)
        opened = tuple(name for piece in group for name in piece.opens)
        for span in _split(text, group[0].start, group[-1].end, max_chunk_chars):
            start, end = _trimmed(text, *span)
            if start < end:
                chunks.append(
                    Chunk(start, end, lines.line_of(start), lines.line_of(end - 1), breadcrumbs, (*names, *opened)),
                )
                opened = ()
    return chunks


def _merged(pieces: Sequence[Piece], max_chunk_chars: int) -> Iterator[list[Piece]]:
    group: list[Piece] = []
    for piece in pieces:
        if group and (piece.breadcrumbs != group[0].breadcrumbs or piece.end - group[0].start > max_chunk_chars):
            yield group
            group = []
        group.append(piece)
    if group:
        yield group


def _labels(group: Sequence[Piece]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return breadcrumbs and names: one definition lends its name to the breadcrumbs, several what owns them all."""
    defining = [piece for piece in group if piece.name or piece.members]
    if len(defining) == 1:
        only = defining[0]
        return (*only.breadcrumbs, *only.owners, *filter(None, (only.name,))), _names(only)
    breadcrumbs = (*group[0].breadcrumbs, *_common_start([piece.owners for piece in defining or group]))
    names = (name for piece in defining for name in _names(piece))
    return breadcrumbs, tuple(name for name in names if name not in breadcrumbs)


def _names(piece: Piece) -> tuple[str, ...]:
    return (*filter(None, (piece.name,)), *piece.members)


def _common_start(chains: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    # What the first and the last in order share, all in between share.
    first, last = min(chains), max(chains)
    size = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:size]


def _split(text: str, start: int, end: int, max_chunk_chars: int) -> Iterator[tuple[int, int]]:
    overlap = min(OVERLAP_CHARS, max_chunk_chars // 4)
    while end - start > max_chunk_chars:
        cut = _border_before(text, start, start + max_chunk_chars)
        yield start, cut
        start = max(start + 1, _line_start(text, cut - overlap, cut))
    yield start, end


def _border_before(text: str, start: int, limit: int) -> int:
    earliest = limit - int((limit - start) * _SEARCH_BACK_SHARE)
    blank_ends = [match.end() for match in _BLANK_LINE.finditer(text, earliest, limit)]
    if blank_ends:
        return blank_ends[-1]
    line = max(text.rfind("\n", earliest, limit), text.rfind("\r", earliest, limit))
    if line >= 0:
        return line + 1
    space = max(text.rfind(" ", earliest, limit), text.rfind("\t", earliest, limit))
    return space + 1 if space >= 0 else limit


def _line_start(text: str, earliest: int, cut: int) -> int:
    """Return the first start of a line in [earliest, cut), so that an overlap begins with a whole line."""
    newline = text.find("\n", earliest, cut - 1)
    return newline + 1 if newline >= 0 else cut


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Drop blank lines at both ends; the first line keeps its indentation."""
    span = text[start:end]
    stripped_end = start + len(span.rstrip())
    body = span.lstrip()
    first = start + len(span) - len(body)
    line = text.rfind("\n", start, first)
    return (line + 1 if line >= 0 else start), stripped_end
