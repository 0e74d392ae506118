"""JavaScript and TypeScript as the walker of source code sees them."""

import re

import tree_sitter_javascript
import tree_sitter_typescript
from tree_sitter import Language, Node

from retrieval_server.engine.chunkers.syntax import (
    Names,
    NodeOf,
    Syntax,
    body_or_self,
    child,
    last_child,
    named,
    names_from,
)

_MAX_NESTING = 16
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_CLASSES = frozenset({"class", "class_declaration"})
# Where a value is put that others import, or that all instances share; none of these tells one from another.
_PLACES = frozenset({"exports", "globalThis", "module", "prototype", "this", "window"})
_NAME = re.compile(r"[\w$#@./-]+")


def _key(node: Node | None) -> Names:
    """Return a member's name without quotes; a computed one has none."""
    names = names_from(node) if node is not None and node.type != "computed_property_name" else ()
    return tuple(name for whole in names for name in (whole.strip("\"'"),) if _NAME.fullmatch(name))


def _method(node: Node) -> Names:
    return _key(node.child_by_field_name("name"))


def _field(node: Node) -> Names:
    """Return the name of a field that holds a function; others are found with their class."""
    key = node.child_by_field_name("name") or node.child_by_field_name("property")
    return _key(key) if _is_definition(node.child_by_field_name("value")) else ()


def _pair(node: Node) -> Names:
    return _key(node.child_by_field_name("key")) if _is_definition(node.child_by_field_name("value")) else ()


def _is_definition(value: Node | None) -> bool:
    return value is not None and (value.type in _FUNCTIONS or value.type in _CLASSES or value.type == "object")


def _variable(node: Node) -> Names:
    """Return the first variable that is declared, unless it names another module."""
    declarator = _declarator(node)
    if declarator is None:
        return ()
    value = declarator.child_by_field_name("value")
    callee = value.child_by_field_name("function") if value is not None else None
    name = declarator.child_by_field_name("name")
    is_import = callee is not None and callee.text == b"require"
    return names_from(name) if name is not None and name.type == "identifier" and not is_import else ()


def _declarator(node: Node) -> Node | None:
    return next((part for part in node.named_children if part.type == "variable_declarator"), None)


def _module(node: Node) -> Names:
    """Return the chain of names of `namespace A.B` or `module "name"`."""
    return tuple(part for name in _key(node.child_by_field_name("name")) for part in name.split(".") if part)


def _assigned(node: Node) -> Names:
    """Return what an assignment defines: `A.prototype.go = function` is ("A", "go"), `exports = { … }` only adds."""
    assignment = _expression(node)
    if assignment is None or assignment.type != "assignment_expression":
        return ()
    if not _is_definition(assignment.child_by_field_name("right")):
        return ()
    names: Names = ()
    target = assignment.child_by_field_name("left")
    for _ in range(_MAX_NESTING):
        if target is None or target.type != "member_expression":
            break
        names = names_from(target.child_by_field_name("property")) + names
        target = target.child_by_field_name("object")
    if target is not None and target.type == "identifier":
        names = names_from(target) + names
    return tuple(name for name in names if name not in _PLACES) or ("",)


def _expression(statement: Node) -> Node | None:
    return statement.named_children[0] if statement.named_child_count else None


def _variable_body(node: Node) -> Node | None:
    declarator = _declarator(node)
    return _members_of(declarator.child_by_field_name("value") if declarator is not None else None)


def _assigned_body(node: Node) -> Node | None:
    """Return the members behind `x = { … }`, of a module pattern, or of a call that is given a function to run."""
    value = _expression(node)
    if value is not None and value.type == "assignment_expression":
        return _members_of(value.child_by_field_name("right"))
    return _members_of(value) or _callback_body(value)


def _value_body(node: Node) -> Node | None:
    return _members_of(node.child_by_field_name("value"))


def _members_of(value: Node | None) -> Node | None:
    """Return what holds the members of an object, a class or a function that is called where it stands."""
    for _ in range(_MAX_NESTING):
        if value is None or value.type == "object":
            return value
        if value.type in _CLASSES:
            return value.child_by_field_name("body")
        if value.type == "call_expression":
            callee = _called_function(value)
            return _block_of(callee)
        if value.type not in {"parenthesized_expression", "unary_expression", "await_expression"}:
            return None
        value = _expression(value)
    return None


def _called_function(call: Node) -> Node | None:
    callee = call.child_by_field_name("function")
    for _ in range(_MAX_NESTING):
        if callee is None or callee.type in _FUNCTIONS:
            return callee
        if callee.type == "parenthesized_expression":
            callee = _expression(callee)
        elif callee.type == "member_expression":
            callee = callee.child_by_field_name("object")
        else:
            return None
    return None


def _callback_body(call: Node | None) -> Node | None:
    arguments = call.child_by_field_name("arguments") if call is not None else None
    last = last_child(arguments) if arguments is not None else None
    if last is not None and last.type == "object":
        return last
    return _block_of(last)


def _block_of(function: Node | None) -> Node | None:
    body = function.child_by_field_name("body") if function is not None and function.type in _FUNCTIONS else None
    return body if body is not None and body.type == "statement_block" else None


def _exported(node: Node) -> Node | None:
    return node.child_by_field_name("declaration") or node.child_by_field_name("value")


def _namespace_inside(node: Node) -> Node | None:
    inner = _expression(node)
    return inner if inner is not None and inner.type == "internal_module" else None


_TYPES = ("abstract_class_declaration", "class", "class_declaration", "interface_declaration")
_NAMED = (
    *_TYPES,
    "enum_declaration",
    "function_declaration",
    "function_expression",
    "function_signature",
    "generator_function_declaration",
    "type_alias_declaration",
)  # fmt: skip
_MODULES = ("internal_module", "module")
_CONTAINERS: dict[str, NodeOf] = {
    **dict.fromkeys(_TYPES, child("body")),
    "expression_statement": _assigned_body,
    "lexical_declaration": _variable_body,
    "object": body_or_self,
    "pair": _value_body,
    "variable_declaration": _variable_body,
}


def _syntax(*grammars: Language) -> Syntax:
    return Syntax(
        grammars=grammars,
        definitions={
            **dict.fromkeys(_NAMED, named),
            **dict.fromkeys(_MODULES, _module),
            "abstract_method_signature": _method,
            "expression_statement": _assigned,
            "field_definition": _field,
            "lexical_declaration": _variable,
            "method_definition": _method,
            "method_signature": _method,
            "object": lambda _: ("",),
            "pair": _pair,
            "public_field_definition": _field,
            "variable_declaration": _variable,
        },
        containers=_CONTAINERS,
        transparent={
            "ERROR": body_or_self,
            "statement_block": body_or_self,
            **dict.fromkeys(_MODULES, child("body")),
        },
        wrappers={
            "ambient_declaration": last_child,
            "export_statement": _exported,
            "expression_statement": _namespace_inside,
        },
        comments=frozenset({"comment"}),
        leading=frozenset({"decorator"}),
    )


_JAVASCRIPT = Language(tree_sitter_javascript.language())
_TYPESCRIPT = Language(tree_sitter_typescript.language_typescript())
_TSX = Language(tree_sitter_typescript.language_tsx())

# Types in a .js file are Flow's, which read much like TypeScript's. A .ts and a .tsx file go by one name here, and but
# for casts such as `<any>x` TypeScript is also TSX.
JAVASCRIPT = _syntax(_JAVASCRIPT, _TSX)
TYPESCRIPT = _syntax(_TSX, _TYPESCRIPT)
