"""Python source by definition: a function or class stays whole where it fits, a large class is cut by its methods."""

from collections.abc import Iterator

import numpy as np
import tree_sitter_python
from numpy.typing import NDArray
from tree_sitter import Language, Node, Parser

from retrieval_server.engine.chunkers.pieces import Piece
from retrieval_server.engine.chunkers.plain import plain_pieces

_LANGUAGE = Language(tree_sitter_python.language())
_DEFINITIONS = frozenset({"function_definition", "class_definition"})
_MAX_DEPTH = 8
_MAX_PARSED_BYTES = 1024 * 1024


def python_pieces(text: str, max_chunk_chars: int) -> list[Piece]:
    """Return contiguous pieces that cover `text`. Broken syntax only costs some borders, never text.

    What is too large to have been written by hand is cut by paragraph: broken on purpose it would parse for seconds.
    """
    source = text.encode("utf-8")
    if len(source) > _MAX_PARSED_BYTES:
        return plain_pieces(text, max_chunk_chars)
    to_char = _CharOffsets(text, source)
    root = Parser(_LANGUAGE).parse(source).root_node
    ends = list(_block_ends(root, (), max_chunk_chars, to_char, 0))
    pieces: list[Piece] = []
    start = 0
    for end, breadcrumbs, name in ends:
        if end > start:
            pieces.append(Piece(start, end, breadcrumbs, name))
            start = end
    if start < len(text):
        pieces.append(Piece(start, len(text)))
    return pieces


def _block_ends(
    block: Node, breadcrumbs: tuple[str, ...], max_chunk_chars: int, to_char: "_CharOffsets", depth: int
) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Yield (end in code points, breadcrumbs, defined name) for each statement; a piece begins where the last ended."""
    for statement in block.children:
        end = to_char[statement.end_byte]
        definition = _definition_of(statement)
        name = _name_of(definition)
        if definition is None or not name:
            yield end, breadcrumbs, ""
            continue
        body = definition.child_by_field_name("body")
        size = end - to_char[statement.start_byte]
        if size <= max_chunk_chars or body is None or depth >= _MAX_DEPTH:
            yield end, breadcrumbs, name
            continue
        inner = (*breadcrumbs, name)
        if definition.type == "class_definition":
            yield from _block_ends(body, inner, max_chunk_chars, to_char, depth + 1)
        else:
            yield end, inner, ""


def _definition_of(statement: Node) -> Node | None:
    if statement.type in _DEFINITIONS:
        return statement
    if statement.type == "decorated_definition":
        return statement.child_by_field_name("definition")
    return None


def _name_of(definition: Node | None) -> str:
    name = definition.child_by_field_name("name") if definition is not None else None
    return name.text.decode("utf-8", "replace") if name is not None and name.text else ""


class _CharOffsets:
    """Byte offset in UTF-8 → code point offset."""

    def __init__(self, text: str, source: bytes) -> None:
        self._table: NDArray[np.int64] | None = None
        if len(text) != len(source):
            # A code point begins at every byte that is not a continuation byte (10xxxxxx).
            begins = (np.frombuffer(source, dtype=np.uint8) & 0xC0) != 0x80
            self._table = np.concatenate(([0], np.cumsum(begins)))

    def __getitem__(self, byte_offset: int) -> int:
        return byte_offset if self._table is None else int(self._table[byte_offset])
