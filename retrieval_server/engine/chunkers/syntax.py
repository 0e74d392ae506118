"""What the walker of source code has to know about a language: what defines something, its name, what it holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tree_sitter import Language, Node

# What is longer names nothing; it would be repeated in the breadcrumbs of every chunk below it.
_MAX_NAME_BYTES = 200

Names = tuple[str, ...]
NamesOf = Callable[[Node], Names]
NodeOf = Callable[[Node], Node | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """One language as tables by node type.

    Attributes:
        grammars: Tried in order until one leaves next to nothing broken; else the one that leaves the least.
        definitions: Node types that define something → its names from the outside in, `A::b` being ("A", "b"). The
            last is empty where nothing new is defined, as by an `impl`, which only adds to a type.
        containers: Node types cut by their members where they are too large → the node that holds the members.
        transparent: Node types always cut by their members, which are told apart by the names of the node alone: a
            namespace, a guard, a group of constants.
        wrappers: Node types around a definition, such as decorators and templates → the definition.
        comments: Comment node types; one that ends on the line above a statement belongs to it.
        leading: Other node types that belong to the statement after them, such as attributes.
        statements_only: Whether a piece is one statement and no more, named by itself alone. Else short ends of a
            definition stay with it, a small class is also found by its members, and a large definition by its name.
    """

    grammars: tuple[Language, ...]
    definitions: Mapping[str, NamesOf]
    containers: Mapping[str, NodeOf] = field(default_factory=dict)
    transparent: Mapping[str, NodeOf] = field(default_factory=dict)
    wrappers: Mapping[str, NodeOf] = field(default_factory=dict)
    comments: frozenset[str] = frozenset()
    leading: frozenset[str] = frozenset()
    statements_only: bool = False


def child(name: str) -> NodeOf:
    """Return a function to the child in the field `name`."""
    return lambda node: node.child_by_field_name(name)


def body_or_self(node: Node) -> Node:
    """Return what holds the members of `node`: its body, else itself."""
    return node.child_by_field_name("body") or node


def last_child(node: Node) -> Node | None:
    """Return the last child that is more than punctuation."""
    return node.named_children[-1] if node.named_child_count else None


def named(node: Node) -> Names:
    """Return the text of the field "name"."""
    return names_from(node.child_by_field_name("name"))


def names_from(node: Node | None) -> Names:
    """Return the text of `node` as the only name, or no name where there is none fit to show."""
    if node is None or not 0 < node.end_byte - node.start_byte <= _MAX_NAME_BYTES:
        return ()
    name = (node.text or b"").decode("utf-8", "replace")
    return (" ".join(name.split()),) if name.strip() else ()
