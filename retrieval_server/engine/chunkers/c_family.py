"""C, C++ and CUDA as the walker of source code sees them."""

import tree_sitter_c
import tree_sitter_cpp
import tree_sitter_cuda
from tree_sitter import Language, Node

from retrieval_server.engine.chunkers.syntax import (
    Names,
    Syntax,
    body_or_self,
    child,
    last_child,
    named,
    names_from,
)

_C = Language(tree_sitter_c.language())
_CPP = Language(tree_sitter_cpp.language())
_CUDA = Language(tree_sitter_cuda.language())

# Declarators and scopes nest (`int *(&A::B::f)(int)`); nobody nests more of them by hand.
_MAX_NESTING = 16
_BARE_DECLARATORS = frozenset({"parenthesized_declarator", "reference_declarator"})
_CLASSES = ("class_specifier", "struct_specifier")
_TYPES = (*_CLASSES, "union_specifier", "enum_specifier")


def _declared(node: Node) -> Names:
    """Return what a declaration declares first; `void A::f()` declares ("A", "f")."""
    for _ in range(_MAX_NESTING):
        inner = node.child_by_field_name("declarator")
        if node.type in _BARE_DECLARATORS:
            inner = last_child(node)
        if inner is None or node.type == "operator_cast":
            break
        node = inner
    return _scoped(node)


def _scoped(node: Node | None) -> Names:
    names: Names = ()
    for _ in range(_MAX_NESTING):
        if node is None or node.type != "qualified_identifier":
            break
        names += _simple(node.child_by_field_name("scope"))
        node = node.child_by_field_name("name")
    last = _simple(node)
    return names + last if last else ()


def _simple(node: Node | None) -> Names:
    if node is not None and node.type in {"template_function", "template_type"}:
        node = node.child_by_field_name("name")
    if node is not None and node.type == "operator_cast":
        return tuple(f"operator {name}" for name in names_from(node.child_by_field_name("type")))
    if node is None or not (node.type.endswith("identifier") or node.type in {"operator_name", "destructor_name"}):
        return ()
    return names_from(node)


def _type_name(node: Node) -> Names:
    """Return the name of a type where it is defined, and none where it is only announced."""
    return _scoped(node.child_by_field_name("name")) if node.child_by_field_name("body") else ()


def _member(node: Node) -> Names:
    """Return the name of a method; data members are found with their class."""
    return _function(node.child_by_field_name("declarator"))


def _function(declarator: Node | None) -> Names:
    """Return what is declared if that is a function."""
    for _ in range(_MAX_NESTING):
        if declarator is None or declarator.type == "function_declarator":
            break
        declarator = (
            last_child(declarator)
            if declarator.type in _BARE_DECLARATORS
            else declarator.child_by_field_name("declarator")
        )
    return _declared(declarator) if declarator is not None else ()


def _namespace(node: Node) -> Names:
    name = node.child_by_field_name("name")
    if name is not None and name.type == "nested_namespace_specifier":
        return tuple(part.strip() for whole in names_from(name) for part in whole.split("::"))
    return names_from(name)


def _macro(node: Node) -> Names:
    """Return the name of a macro; one without a value guards or configures."""
    return named(node) if node.child_by_field_name("value") else ()


def _class_of_instance(node: Node) -> Node | None:
    """Return the class in `class Name { … } instance;` if it has methods: there is more to find than the instance."""
    kind = node.child_by_field_name("type")
    body = kind.child_by_field_name("body") if kind is not None and kind.type in _CLASSES else None
    has_methods = body is not None and any(member.type == "function_definition" for member in body.named_children)
    return kind if has_methods and kind is not None and kind.child_by_field_name("name") else None


def _exported_class(node: Node) -> Node | None:
    """Return the body of `class API Name { … }`, which reads as a function to those who cannot expand API."""
    kind = node.child_by_field_name("type")
    is_class = kind is not None and kind.type in _TYPES and kind.child_by_field_name("body") is None
    return node.child_by_field_name("body") if is_class else None


def _syntax(*grammars: Language) -> Syntax:
    return Syntax(
        grammars=grammars,
        definitions={
            **dict.fromkeys(_TYPES, _type_name),
            "function_definition": _declared,
            "declaration": _declared,
            "type_definition": _declared,
            "field_declaration": _member,
            # By themselves they stand where a function is broken: at a brace that a condition opens or closes.
            **dict.fromkeys(("function_declarator", "pointer_declarator", "reference_declarator"), _function),
            "alias_declaration": named,
            "concept_definition": named,
            "namespace_definition": _namespace,
            "namespace_alias_definition": named,
            "preproc_def": _macro,
            "preproc_function_def": _macro,
        },
        containers={**dict.fromkeys(_TYPES, child("body")), "function_definition": _exported_class},
        transparent={
            "ERROR": body_or_self,
            "declaration_list": body_or_self,
            "namespace_definition": child("body"),
            "preproc_if": body_or_self,
            "preproc_ifdef": body_or_self,
            "preproc_else": body_or_self,
            "preproc_elif": body_or_self,
            "preproc_elifdef": body_or_self,
        },
        # A label is what "public:" looks like in the body of what reads as a function.
        wrappers={
            "declaration": _class_of_instance,
            "labeled_statement": last_child,
            "linkage_specification": child("body"),
            "template_declaration": last_child,
        },
        comments=frozenset({"comment"}),
        leading=frozenset({"access_specifier"}),
    )


# A header's name does not tell C from C++ and CUDA. What is valid in both reads the same in either grammar, so the
# widest comes first, and C's own is for what only C allows.
C = _syntax(_CUDA, _C)
CPP = _syntax(_CPP)
CUDA = _syntax(_CUDA)
