"""Java as the walker of source code sees it."""

import tree_sitter_java
from tree_sitter import Language

from retrieval_server.engine.chunkers.syntax import Syntax, body_or_self, child, named

_TYPES = (
    "annotation_type_declaration",
    "class_declaration",
    "enum_declaration",
    "interface_declaration",
    "record_declaration",
)  # fmt: skip
_METHODS = (
    "annotation_type_element_declaration",
    "compact_constructor_declaration",
    "constructor_declaration",
    "method_declaration",
)  # fmt: skip

JAVA = Syntax(
    grammars=(Language(tree_sitter_java.language()),),
    definitions=dict.fromkeys((*_TYPES, *_METHODS, "enum_constant"), named),
    containers=dict.fromkeys((*_TYPES, "enum_constant"), child("body")),
    transparent=dict.fromkeys(("ERROR", "enum_body_declarations"), body_or_self),
    comments=frozenset({"line_comment", "block_comment"}),
)
