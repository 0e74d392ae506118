"""JavaScript and TypeScript."""

import pytest

from tests.retrieval_server.engine.chunkers.spans import chunks_in, outline


def names_of(text: str, language: str = "javascript") -> tuple[str, ...]:
    (only,) = chunks_in(text, language)
    return only.names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("export default class A {}\n", ("A",)),
        ("export const a = () => 1;\n", ("a",)),
        ("const fs = require('fs');\nfunction f() {}\n", ("f",)),
        ("A.prototype.go = function () {};\n", ("go",)),
        ("exports.go = function () {};\n", ("go",)),
        ("module.exports = { one() {}, two: function () {}, three: 3 };\n", ("one", "two")),
        ("class A { static #p = () => 1; get q() { return 1 } [r]() {} 's'() {} t = 1 }\n", ("A", "#p", "q", "s")),
    ],
)
def test_what_defines_something_names_it(text: str, names: tuple[str, ...]):
    assert names_of(text) == names


def test_what_is_put_on_a_prototype_is_named_by_its_class():
    assert chunks_in("A.prototype.go = function () {};\n", "javascript")[0].breadcrumbs == ("A", "go")


def test_a_large_class_is_cut_by_its_methods_and_its_export_stays_with_it():
    methods = "".join(
        f"  /** Says {name}. */\n  {name}() {{\n    return 1;\n  }}\n\n" for name in ("one", "two", "three")
    )
    text = f"class A {{\n{methods}}}\n\nexport default A;\n"
    assert outline(text, "javascript", 100) == [
        (("A", "one"), "class A {"),
        (("A", "two"), "  /** Says two. */"),
        (("A", "three"), "  /** Says three. */"),
    ]


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("(function () {", "})();"),
        ("(function () {", "}).call(this);"),
        ("!function () {", "}();"),
        ("define(['a'], function (a) {", "});"),
        ("describe('it', () => {", "});"),
        ("const module = (function () {", "})();"),
    ],
)
def test_a_function_that_only_wraps_a_module_is_cut_by_what_is_in_it(opening: str, closing: str):
    text = (
        f"{opening}\n" + "".join(f"  function f{i}() {{\n    return {i};\n  }}\n\n" for i in range(8)) + f"{closing}\n"
    )
    found = chunks_in(text, "javascript", 120)
    assert len(found) > 2
    assert [name for c in found for name in c.names if name != "module"] == [f"f{i}" for i in range(8)]


def test_a_large_object_is_cut_by_its_members():
    text = "export default {\n" + "".join(f"  m{i}() {{\n    return {i};\n  }},\n" for i in range(8)) + "};\n"
    assert [name for c in chunks_in(text, "javascript", 100) for name in c.names] == [f"m{i}" for i in range(8)]


def test_types_in_javascript_are_read():
    text = "function f(a: number, b?: string): Array<string> {\n  return [];\n}\n"
    assert names_of(text) == ("f",)


@pytest.mark.parametrize(
    ("text", "breadcrumbs"),
    [
        ("declare namespace N.M { function f(): void; }\n", ("N", "M", "f")),
        ('declare module "pkg/part" { class K {} }\n', ("pkg/part", "K")),
        ("export abstract class Q { abstract a(): void; }\n", ("Q",)),
        ("interface I { a: string; f(): void; }\n", ("I",)),
        ("export enum E { A, B }\n", ("E",)),
        ("type X = { a: 1 };\n", ("X",)),
        ("@Component({a: 1})\nexport class D {}\n", ("D",)),
    ],
)
def test_typescript_names_its_types(text: str, breadcrumbs: tuple[str, ...]):
    assert chunks_in(text, "typescript")[0].breadcrumbs == breadcrumbs


def test_casts_and_markup_are_both_typescript():
    assert names_of("const a = <any>b;\nfunction f() {}\n", "typescript") == ("a", "f")
    assert names_of("function A() {\n  return <div><B c={1} /></div>;\n}\nfunction C() {}\n", "typescript") == (
        "A",
        "C",
    )
