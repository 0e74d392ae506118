"""Go as the walker of source code sees it."""

import tree_sitter_go
from tree_sitter import Language, Node

from retrieval_server.engine.chunkers.syntax import Names, Syntax, body_or_self, named, names_from

_MAX_NESTING = 8


def _method(node: Node) -> Names:
    """Return the receiver's type and the name: `func (s *Server[T]) Start()` is ("Server", "Start")."""
    receivers = node.child_by_field_name("receiver")
    receiver = receivers.named_children[0] if receivers is not None and receivers.named_child_count else None
    kind = receiver.child_by_field_name("type") if receiver is not None else None
    for _ in range(_MAX_NESTING):
        if kind is None or kind.type == "type_identifier":
            break
        kind = kind.child_by_field_name("type") or (kind.named_children[0] if kind.named_child_count else None)
    name = named(node)
    return names_from(kind) + name if name else ()


_GROUPS = ("type_declaration", "const_declaration", "var_declaration", "var_spec_list")
_SPECS = ("type_spec", "type_alias", "const_spec", "var_spec")

GO = Syntax(
    grammars=(Language(tree_sitter_go.language()),),
    definitions={
        **dict.fromkeys(_SPECS, named),
        "function_declaration": named,
        "method_declaration": _method,
    },
    transparent=dict.fromkeys((*_GROUPS, "ERROR"), body_or_self),
    comments=frozenset({"comment"}),
)
