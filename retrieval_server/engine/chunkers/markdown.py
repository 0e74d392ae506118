"""Markdown by heading: a section is a piece, its breadcrumbs are the chain of headings above it."""

import re
from collections.abc import Iterator

from retrieval_server.engine.chunkers.pieces import Piece

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")


def markdown_pieces(text: str, max_chunk_chars: int) -> list[Piece]:  # noqa: ARG001  the signature of all chunkers
    """Return contiguous pieces that cover `text`, one a section. A heading inside a code fence is only text."""
    chain: list[tuple[int, str]] = []
    pieces: list[Piece] = []
    start = 0
    for offset, level, title in _headings(text):
        if offset > start:
            pieces.append(_section(start, offset, chain))
            start = offset
        while chain and chain[-1][0] >= level:
            chain.pop()
        chain.append((level, title))
    if start < len(text):
        pieces.append(_section(start, len(text), chain))
    return pieces


def _section(start: int, end: int, chain: list[tuple[int, str]]) -> Piece:
    titles = tuple(title for _, title in chain if title)
    return Piece(start, end, titles)


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (offset of the heading's first line, level from 1, title)."""
    fence = ""
    previous = ""
    previous_offset = 0
    for match in _LINE.finditer(text):
        line = match.group().rstrip("\r\n")
        opened = _FENCE.match(line)
        if fence:
            if opened and opened.group(1).startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            previous = ""
            continue
        if opened:
            fence = opened.group(1)
            previous = ""
            continue
        heading = _HEADING.match(line)
        underline = _UNDERLINE.match(line)
        if heading:
            yield match.start(), len(heading.group(1)), _title(line[heading.end() :])
            previous = ""
        elif underline and previous.strip() and not previous.lstrip().startswith(("-", "*", ">", "|", "#")):
            yield previous_offset, 1 if underline.group(1)[0] == "=" else 2, previous.strip()
            previous = ""
        else:
            previous = line
            previous_offset = match.start()


def _title(rest: str) -> str:
    """Return a heading's text without the marks that may close it, as in "## Title ##"."""
    title = rest.strip()
    unmarked = title.rstrip("#")
    return unmarked.rstrip() if not unmarked or unmarked[-1] in " \t" else title
