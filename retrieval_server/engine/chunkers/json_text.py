"""JSON by key: what is too large is cut by the keys or items in it, and breadcrumbs are the path of keys."""

import re
from dataclasses import dataclass
from itertools import pairwise

from retrieval_server.engine.chunkers.entries import MAX_DEPTH, Entry, names_its_object, pieces_of_entries
from retrieval_server.engine.chunkers.pieces import Piece
from retrieval_server.engine.chunkers.text_lines import lines_of

# A string ends with its line, closed or not, so that an open quote spoils no more than its line. Comments are no JSON,
# but frequent in it.
_TOKEN = re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n])*+"?|//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|[][{},:]')


def json_pieces(text: str, max_chunk_chars: int) -> list[Piece]:
    """Return contiguous pieces that cover `text`.

    Nothing has to be well formed: brackets only say where borders are.
    """
    root = Entry(0)
    reader = _Reader(text, root, max_chunk_chars)
    for match in _TOKEN.finditer(text):
        reader.take(match.group(), match.start(), match.end())
    return list(pieces_of_entries(root.children, 0, len(text), (), max_chunk_chars))


def json_lines_pieces(text: str, max_chunk_chars: int) -> list[Piece]:  # noqa: ARG001  the signature of all chunkers
    """Return contiguous pieces that cover `text`, one a line, which is a record."""
    borders = (*(start for start, _ in lines_of(text)), len(text))
    return [Piece(start, end) for start, end in pairwise(borders)]


@dataclass(slots=True)
class _Container:
    """An object or array that is open, and the entry whose value it is."""

    is_object: bool
    entry: Entry
    key_start: int = -1
    key: str = ""
    is_at_value: bool = False


class _Reader:
    """Makes entries of keys and of items that are containers themselves; other items need no border of their own."""

    def __init__(self, text: str, root: Entry, max_chunk_chars: int) -> None:
        self._text = text
        self._root = root
        self._max_chunk_chars = max_chunk_chars
        self._open: list[_Container] = []
        self._too_deep_count = 0
        self._previous_end = 0

    def take(self, lexeme: str, start: int, end: int) -> None:
        """Take the next token."""
        match lexeme[0]:
            case "{" | "[":
                self._open_container(start, is_object=lexeme == "{")
            case "}" | "]":
                self._close_container(end)
            case _ if self._open and self._open[-1].is_object and not self._too_deep_count:
                self._take_in_object(self._open[-1], lexeme, start)
        self._previous_end = end

    def _open_container(self, start: int, *, is_object: bool) -> None:
        if len(self._open) >= MAX_DEPTH:
            self._too_deep_count += 1
            return
        if not self._open:
            entry = self._root
        elif self._open[-1].is_object and self._open[-1].entry.children:
            entry = self._open[-1].entry.children[-1]
        else:
            entry = Entry(self._border(start))
            self._open[-1].entry.children.append(entry)
        self._open.append(_Container(is_object, entry))

    def _close_container(self, end: int) -> None:
        if self._too_deep_count:
            self._too_deep_count -= 1
        elif self._open:
            entry = self._open.pop().entry
            if end - entry.start <= self._max_chunk_chars and entry is not self._root:
                entry.children = []  # it will never be cut

    def _take_in_object(self, container: _Container, lexeme: str, start: int) -> None:
        if lexeme == ",":
            container.is_at_value = False
        elif lexeme == ":":
            if container.key_start >= 0:
                container.entry.children.append(Entry(container.key_start, container.key))
                container.key_start, container.is_at_value = -1, True
        elif lexeme[0] != '"':
            return
        elif not container.is_at_value:
            container.key_start, container.key = self._border(start), lexeme.strip('"')
        elif not container.entry.name and names_its_object(container.key, lexeme) and container.entry is not self._root:
            container.entry.name = lexeme.strip('"')

    def _border(self, start: int) -> int:
        """Return where the line of the token at `start` begins, if the token is the first in it, else `start`."""
        line = 1 + max(self._text.rfind(end, self._previous_end, start) for end in "\r\n")
        return line if line > 0 and not self._text[line:start].strip() else start
