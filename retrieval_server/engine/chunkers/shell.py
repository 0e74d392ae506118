"""Shell scripts as the walker of source code sees them."""

import tree_sitter_bash
from tree_sitter import Language

from retrieval_server.engine.chunkers.syntax import Syntax, body_or_self, named

SHELL = Syntax(
    grammars=(Language(tree_sitter_bash.language()),),
    definitions={"function_definition": named},
    transparent={"ERROR": body_or_self},
    comments=frozenset({"comment"}),
)
