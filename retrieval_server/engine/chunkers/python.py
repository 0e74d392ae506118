"""Python as the walker of source code sees it."""

import tree_sitter_python
from tree_sitter import Language

from retrieval_server.engine.chunkers.code import code_pieces
from retrieval_server.engine.chunkers.pieces import Piece
from retrieval_server.engine.chunkers.syntax import Syntax, body_or_self, child, named

# A comment keeps its distance: what is said about a function is said inside it. And what is called below a class or
# function is more than its end.
PYTHON = Syntax(
    grammars=(Language(tree_sitter_python.language()),),
    definitions={"function_definition": named, "class_definition": named},
    containers={"class_definition": child("body")},
    transparent={"ERROR": body_or_self},
    lone_chars=0,
    wrappers={"decorated_definition": child("definition")},
)


def python_pieces(text: str, max_chunk_chars: int) -> list[Piece]:
    """Return contiguous pieces that cover `text`, by class and function."""
    return code_pieces(text, max_chunk_chars, PYTHON)
