"""YAML by key: what is too large is cut by the keys and items in it, and breadcrumbs are the path of keys."""

import re
from dataclasses import dataclass

from retrieval_server.engine.chunkers.entries import MAX_DEPTH, Entry, names_its_object, pieces_of_entries
from retrieval_server.engine.chunkers.pieces import Piece
from retrieval_server.engine.chunkers.text_lines import lines_of

_DOCUMENT = re.compile(r"---(?=[ \t]|$)")
_DASH = re.compile(r"-(?: ++|$)")
_COLON = re.compile(r":(?=[ \t]|$)")
# What a plain key cannot begin with.
_NO_KEY = frozenset("[]{},#&*!|>%@`")
# The value is a block of text, indented below its key.
_BLOCK_SCALAR = re.compile(r"(?:[&!][^\s]*+[ \t]++)*+[|>][-+0-9]*+[ \t]*+(?:#|$)")
_COMMENT_TAIL = re.compile(r"[ \t]#")
_MAX_DASHES = 8


def yaml_pieces(text: str, max_chunk_chars: int) -> list[Piece]:
    """Return contiguous pieces that cover `text`.

    Lines and their indentation decide; nothing has to be well formed. Comments right above a key lead to it.
    """
    reader = _Reader()
    for start, line in lines_of(text):
        reader.take(start, line)
    return list(pieces_of_entries(reader.entries, 0, len(text), (), max_chunk_chars))


@dataclass(slots=True)
class _Level:
    """An open entry; what has a greater rank is inside it."""

    rank: int
    entry: Entry
    is_item: bool = False


class _Reader:
    """Makes entries of keys and items.

    A rank is twice the column, and one more for an item: it is inside the key that its dash stands below.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._open: list[_Level] = []
        self._scalar_indent: int | None = None
        self._lead_start = -1
        self._lead_indent = 0

    def take(self, start: int, line: str) -> None:
        """Take the next line."""
        body = line.lstrip(" ")
        indent = len(line) - len(body)
        is_blank = not body.strip()
        if self._scalar_indent is not None:
            if is_blank or indent > self._scalar_indent:
                return
            self._scalar_indent = None
        begins_document = indent == 0 and _DOCUMENT.match(body)
        if begins_document:
            self._open.clear()
        if begins_document or body.startswith("#"):
            if self._lead_start < 0 or self._lead_indent != indent:
                self._lead_start, self._lead_indent = start, indent
            return
        if not is_blank:
            self._take_content(start, indent, body)
        self._lead_start = -1

    def _take_content(self, start: int, indent: int, body: str) -> None:
        column = indent
        for _ in range(_MAX_DASHES):
            dash = _DASH.match(body)
            if dash is None:
                break
            border = self._border(start, indent) if column == indent else start + column
            self._enter(2 * column + 1, Entry(border), is_item=True)
            column += dash.end()
            body = body[dash.end() :]
        found = _key_and_value(body)
        if found is None:
            return
        key, value = found
        above = self._enter(2 * column, Entry(self._border(start, indent) if column == indent else start + column, key))
        if above is not None and above.is_item and not above.entry.name and names_its_object(key, value):
            above.entry.name = value
        if _BLOCK_SCALAR.match(value):
            self._scalar_indent = column

    def _border(self, start: int, indent: int) -> int:
        return self._lead_start if self._lead_start >= 0 and self._lead_indent == indent else start

    def _enter(self, rank: int, entry: Entry, *, is_item: bool = False) -> _Level | None:
        """Add an entry below those of a lesser rank; return the level that it is in."""
        while self._open and self._open[-1].rank >= rank:
            self._open.pop()
        above = self._open[-1] if self._open else None
        if len(self._open) < MAX_DEPTH:
            (above.entry.children if above else self.entries).append(entry)
            self._open.append(_Level(rank, entry, is_item))
        return above


def _key_and_value(body: str) -> tuple[str, str] | None:
    """Return the key that `body` begins with and what follows its colon, without quotes and a comment at the end."""
    if not body or body[0] in _NO_KEY:
        return None
    if body[0] in "\"'":
        closing = body.find(body[0], 1)
        colon = _COLON.match(body, closing + 1) if closing > 0 else None
    else:
        colon = _COLON.search(body)
    if colon is None or _COMMENT_TAIL.search(body, 0, colon.start()):
        return None
    value = _COMMENT_TAIL.split(body[colon.end() :].strip(), maxsplit=1)[0].strip()
    return body[: colon.start()].strip("\"' \t"), value.strip("\"'")
