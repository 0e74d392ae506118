"""Text to chunks, by format. A new format is a module with a `…_pieces` function and an entry in `_CHUNKERS`."""

from collections.abc import Callable
from functools import partial

from retrieval_server.engine.chunkers.code import code_pieces
from retrieval_server.engine.chunkers.json_text import json_lines_pieces, json_pieces
from retrieval_server.engine.chunkers.lines import LineIndex, with_line_feeds
from retrieval_server.engine.chunkers.markdown import markdown_pieces
from retrieval_server.engine.chunkers.notebook import notebook_pieces
from retrieval_server.engine.chunkers.pdf import pdf_pieces
from retrieval_server.engine.chunkers.pieces import Chunk, Piece, chunks_of
from retrieval_server.engine.chunkers.plain import plain_pieces
from retrieval_server.engine.chunkers.restructuredtext import restructuredtext_pieces
from retrieval_server.engine.chunkers.syntaxes import SYNTAXES
from retrieval_server.engine.chunkers.toml import toml_pieces
from retrieval_server.engine.chunkers.yaml import yaml_pieces

CHUNKER_VERSION = 5
DEFAULT_MAX_CHUNK_CHARS = 2000

_CHUNKERS: dict[str, Callable[[str, int], list[Piece]]] = {
    **{language: partial(code_pieces, syntax=syntax) for language, syntax in SYNTAXES.items()},
    "markdown": markdown_pieces,
    "html": markdown_pieces,
    "json": json_pieces,
    "jsonl": json_lines_pieces,
    "notebook": notebook_pieces,
    "pdf": pdf_pieces,
    "restructuredtext": restructuredtext_pieces,
    "toml": toml_pieces,
    "yaml": yaml_pieces,
}


def chunk_text(
    text: str, lines: LineIndex, language: str, max_chunk_chars: int = DEFAULT_MAX_CHUNK_CHARS
) -> list[Chunk]:
    """Return the chunks of `text`, in order; they cover all of it that is not blank."""
    text = with_line_feeds(text)
    pieces = _CHUNKERS.get(language, plain_pieces)(text, max_chunk_chars)
    return chunks_of(text, lines, pieces, max_chunk_chars)


__all__ = ["CHUNKER_VERSION", "DEFAULT_MAX_CHUNK_CHARS", "Chunk", "LineIndex", "chunk_text"]
