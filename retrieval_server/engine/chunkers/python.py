"""Python as the walker of source code sees it."""

import tree_sitter_python
from tree_sitter import Language

from retrieval_server.engine.chunkers.syntax import Syntax, body_or_self, child, named

# A comment keeps its distance: what is said about a function is said inside it. Nor is anything else added to a
# statement: what is called below a function is more than its end, and methods are found by their `def`.
PYTHON = Syntax(
    grammars=(Language(tree_sitter_python.language()),),
    definitions={"function_definition": named, "class_definition": named},
    containers={"class_definition": child("body")},
    transparent={"ERROR": body_or_self},
    statements_only=True,
    wrappers={"decorated_definition": child("definition")},
)
