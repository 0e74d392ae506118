"""Rust as the walker of source code sees it."""

import tree_sitter_rust
from tree_sitter import Language, Node

from retrieval_server.engine.chunkers.syntax import Names, Syntax, body_or_self, child, named, names_from

_MAX_NESTING = 8


def _implemented(node: Node) -> Names:
    """Return the type that is given members: `impl<T> Display for &Path<T>` adds to ("Path",)."""
    kind = node.child_by_field_name("type")
    for _ in range(_MAX_NESTING):
        inner = kind and (kind.child_by_field_name("type") or kind.child_by_field_name("trait"))
        if kind is None or inner is None:
            break
        kind = inner
    if kind is not None and kind.type == "scoped_type_identifier":
        kind = kind.child_by_field_name("name")
    names = names_from(kind) if kind is not None and kind.type in {"type_identifier", "primitive_type"} else ()
    return (*names, "")


_NAMED = (
    "const_item",
    "enum_item",
    "function_item",
    "function_signature_item",
    "macro_definition",
    "mod_item",
    "static_item",
    "struct_item",
    "trait_item",
    "type_item",
    "union_item",
)  # fmt: skip

RUST = Syntax(
    grammars=(Language(tree_sitter_rust.language()),),
    definitions={**dict.fromkeys(_NAMED, named), "impl_item": _implemented},
    containers={"impl_item": child("body"), "trait_item": child("body")},
    transparent={"ERROR": body_or_self, "foreign_mod_item": child("body"), "mod_item": child("body")},
    comments=frozenset({"line_comment", "block_comment"}),
    leading=frozenset({"attribute_item"}),
)
