"""TOML by table: what is too large is cut by the keys in it."""

import re
from collections.abc import Iterator

from retrieval_server.engine.chunkers.entries import Entry, pieces_of_entries
from retrieval_server.engine.chunkers.pieces import Piece

# Strings of one line end with it, closed or not, so that an open quote spoils no more than its line.
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5}+)?'
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5}+)?"
    r'|"(?:[^"\\\r\n]|\\[^\r\n])*+"?'
    r"|'[^'\r\n]*+'?"
    r"|#[^\r\n]*+|[][{}]|\r\n|\r|\n",
    re.DOTALL,
)
_TABLE = re.compile(r"""[ \t]*+\[\[?+((?:[^][\r\n#"']|"[^"\r\n]*+"|'[^'\r\n]*+')++)\]\]?+[ \t]*+(?=[#\r\n]|\Z)""")
# A table's head that can be no part of an array, even when a bracket above it was never closed.
_PLAIN_TABLE = re.compile(r"\[\[?+[A-Za-z_][\w.-]*+\]\]?+[ \t]*+(?=[#\r\n]|\Z)")
_KEY = re.compile(r"[ \t]*+([^][{},=#\r\n]++)=")
_COMMENT = re.compile(r"[ \t]*+#")


def toml_pieces(text: str, max_chunk_chars: int) -> list[Piece]:
    """Return contiguous pieces that cover `text`. Comments right above a table or key belong to it."""
    entries: list[Entry] = []
    siblings = entries
    comment_start = -1
    for start in _statement_starts(text):
        table = _TABLE.match(text, start)
        key = None if table else _KEY.match(text, start)
        named = table or key
        if named:
            name = named.group(1).strip()
            is_quoted = name[:1] in ("'", '"') and name.count(name[0]) == 2
            entry = Entry(start if comment_start < 0 else comment_start, name.strip("\"'") if is_quoted else name)
            if table:
                entries.append(entry)
                siblings = entry.children
            else:
                siblings.append(entry)
        if not _COMMENT.match(text, start):
            comment_start = -1
        elif comment_start < 0:
            comment_start = start
    return list(pieces_of_entries(entries, 0, len(text), (), max_chunk_chars))


def _statement_starts(text: str) -> Iterator[int]:
    """Yield where the lines begin that are within no array and no string of several lines."""
    yield 0
    depth = 0
    for match in _TOKEN.finditer(text):
        lexeme = match.group()
        if lexeme in "[{":
            depth += 1
        elif lexeme in "]}":
            depth = max(0, depth - 1)
        elif lexeme[0] in "\r\n" and (depth == 0 or _PLAIN_TABLE.match(text, match.end())):
            depth = 0
            yield match.end()
