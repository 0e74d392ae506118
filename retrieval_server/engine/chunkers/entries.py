"""From nested entries, such as keys with their values, to pieces that fit into chunks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from retrieval_server.engine.chunkers.pieces import Piece

# Deeper entries are not told apart: a path of so many keys names a place well enough.
MAX_DEPTH = 12
# What opens an entry, such as `"key": {`, is no passage by itself up to this length.
_MAX_HEAD_CHARS = 120
_NAMING_KEYS = frozenset({"name", "id", "key", "label", "title"})
# A longer name is cut where it is shown, and is no name of an object.
_MAX_NAME_CHARS = 120


@dataclass(slots=True)
class Entry:
    """Something that begins at `start` and ends where its next sibling begins, or else where what holds it ends.

    An entry without a name is text between named ones, or an item of a list.
    """

    start: int
    name: str = ""
    children: list["Entry"] = field(default_factory=list)


def pieces_of_entries(
    entries: Sequence[Entry], start: int, end: int, breadcrumbs: tuple[str, ...], max_chunk_chars: int
) -> Iterator[Piece]:
    """Yield contiguous pieces that cover [start, end): one an entry, or those of its children where it is too large.

    A short text before an entry, such as a bracket or the key that the entry is below, goes with it.
    """
    if not entries:
        if end > start:
            yield Piece(start, end, breadcrumbs)
        return
    at = start
    if entries[0].start - start > _MAX_HEAD_CHARS:
        at = entries[0].start
        yield Piece(start, at, breadcrumbs)
    for entry, entry_end in zip(entries, (*(entry.start for entry in entries[1:]), end), strict=True):
        name = entry.name[:_MAX_NAME_CHARS]
        if entry_end - at > max_chunk_chars and entry.children:
            inner = (*breadcrumbs, name) if name else breadcrumbs
            yield from pieces_of_entries(entry.children, at, entry_end, inner, max_chunk_chars)
        elif entry_end > at:
            yield Piece(at, entry_end, breadcrumbs, name)
        at = entry_end


def names_its_object(key: str, value: str) -> bool:
    """Tell whether a member says what the object that it is in is called."""
    return key.lower() in _NAMING_KEYS and 0 < len(value) <= _MAX_NAME_CHARS
