"""Every chunker of source code: what its spans are, and what holds in all languages."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval_server.engine.chunkers.syntaxes import SYNTAXES
from tests.retrieval_server.engine.chunkers.spans import assert_spans_cover, chunks_in, outline

FRAGMENTS = {
    "c": ["int f(int a) {\n", "struct S {\n", "#ifdef A\n", "#else\n", "#endif\n", "#define M(x) \\\n", "int g;\n"],
    "cpp": ["namespace a::b {\n", "class A : B {\n", "public:\n", "template <class T>\n", "void A::f() {\n", "};\n"],
    "cuda": ["__global__ void k(int* a) {\n", "k<<<1, 2>>>(a);\n", 'extern "C" {\n', "namespace {\n", "int x;\n"],
    "go": ["func F() {\n", "func (s *S) M() {\n", "type T struct {\n", "const (\n", "A = 1\n", "package p\n"],
    "java": ["class A {\n", "enum E { P, Q;\n", "@Override\n", "void m() {\n", "interface I {\n", "int x = 1;\n"],
    "javascript": ["class A {\n", "export default ", "const f = () => {\n", "A.prototype.b = function () {\n", "`${"],
    "python": ["def f(x):\n", "class A:\n", "    def g(self):\n", "@d\n", "cdef int h(int* a):\n", "    return 1\n"],
    "rust": ["fn f() {\n", "impl A for B {\n", "mod m {\n", "#[a]\n", "/// d\n", "struct S;\n", "macro_rules! m {\n"],
    "shell": ["f() {\n", "if x; then\n", "fi\n", "cat <<EOF\n", "EOF\n", "x=$(", "case a in\n", "esac\n", "a | b\n"],
    "typescript": ["interface I {\n", "namespace N {\n", "type T = ", "<div>", "</div>", "@D()\n", "f<T>(a: T)\n"],
}  # fmt: skip
COMMON = ["{", "}", "(", ")", ";", "\n", "\n\n", "\r\n", "\r", " ", "\t", "// c\n", "# c\n", "/* c */", '"', "'", "\\",
          "a", "word ", "東京 ", "🚀", "é", "x" * 70, "\x0c", "\u2028", "\x85", "\0", "=", "<", "a.b(c)"]  # fmt: skip

# One definition with a comment above it, between others: (language, comment and definition).
DOCUMENTED = [
    ("c", "/** Adds. */\nint add(int a, int b)\n{\n    return a + b;\n}"),
    ("cpp", "/// Adds.\n/// Twice.\ntemplate <typename T>\nT add(T a, T b) {\n  return a + b;\n}"),
    ("cuda", "// Adds.\n__global__ void add(float* a, float* b) {\n  a[threadIdx.x] += b[threadIdx.x];\n}"),
    ("go", "// add adds.\nfunc add(a, b int) int {\n\treturn a + b\n}"),
    ("java", "/** A class. */\n@Deprecated\nclass add {\n  int sum(int a, int b) { return a + b; }\n}"),
    ("javascript", "/**\n * Adds.\n */\nexport function add(a, b) {\n  return a + b;\n}"),
    ("rust", "/// Adds.\n#[inline]\npub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}"),
    ("shell", "# Adds.\nadd() {\n  echo $(($1 + $2))\n}"),
    ("typescript", "// Adds.\nexport const add = (a: number, b: number): number => {\n  return a + b;\n};"),
]
FILLERS = {
    "c": "int {}(void) {{ return 1; }}", "cpp": "int {}() {{ return 1; }}", "cuda": "int {}() {{ return 1; }}",
    "go": "func {}() int {{ return 1 }}", "java": "class {} {{ int x; }}", "javascript": "function {}() {{}}",
    "rust": "fn {}() -> i32 {{ 1 }}", "shell": "{}() {{ true; }}", "typescript": "function {}(): void {{}}",
}  # fmt: skip


@pytest.mark.parametrize("language", SYNTAXES)
@given(data=st.data(), limit=st.integers(64, 300))
@settings(max_examples=60, deadline=None)
def test_spans_cover_all_that_is_not_blank_and_stay_within_the_limit(language: str, data: st.DataObject, limit: int):
    made = st.lists(st.sampled_from(FRAGMENTS[language] + COMMON), max_size=60).map("".join)
    assert_spans_cover(data.draw(st.one_of(made, st.text(max_size=300))), language, limit)


@pytest.mark.parametrize(("language", "definition"), DOCUMENTED)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_comment_above_a_definition_stays_with_it_and_its_name_is_a_breadcrumb(
    language: str, definition: str, newline: str
):
    filler = FILLERS[language]
    text = f"{filler.format('before')}\n\n{definition}\n\n{filler.format('after')}\n".replace("\n", newline)
    definition = definition.replace("\n", newline)
    found = {c.breadcrumbs: text[c.start_char : c.end_char] for c in chunks_in(text, language, len(definition) + 4)}
    assert found["add",] == definition


@pytest.mark.parametrize("language", FILLERS)
def test_small_neighbours_share_a_chunk_that_lists_their_names(language: str):
    text = "\n\n".join(FILLERS[language].format(name) for name in ("one", "two", "three")) + "\n"
    (only,) = chunks_in(text, language)
    assert only.breadcrumbs == ()
    assert [name for name in only.names if name != "x"] == ["one", "two", "three"]


@pytest.mark.parametrize(("language", "definition"), [pair for pair in DOCUMENTED if pair[0] != "java"])
def test_a_function_above_the_limit_is_split_and_each_part_knows_its_name(language: str, definition: str):
    head, line, *tail = definition.rsplit("\n", 2)
    text = "\n".join((head, *[line] * 30, *tail))
    assert {c.breadcrumbs for c in chunks_in(text, language, 300)} == {("add",)}


@pytest.mark.parametrize(("language", "definition"), DOCUMENTED)
def test_what_follows_broken_syntax_is_still_found(language: str, definition: str):
    text = f"{FILLERS[language].format('before')}\n\n) ) = @ )\n\n{definition}\n"
    found = chunks_in(text, language, len(definition) + 4)
    assert any("add" in (*c.breadcrumbs, *c.names) for c in found)
    assert "".join(text.split()) == "".join("".join(text[c.start_char : c.end_char] for c in found).split())


@pytest.mark.parametrize("language", FILLERS)
def test_offsets_count_code_points_and_not_bytes(language: str):
    remark = "#" if language == "shell" else "//"
    filler = FILLERS[language]
    text = f"{remark} 東京 🚀 é\n\n" * 6 + f"{filler.format('one')}\n\n{remark} 🚀\n{filler.format('two')}\n"
    assert outline(text, language, len(filler) + 8)[-1] == (("two",), f"{remark} 🚀")


def test_a_comment_longer_than_a_quarter_of_a_chunk_stands_alone_where_it_does_not_fit_with_its_function():
    text = "// word\n" * 40 + "void f() {\n" + "  g();\n" * 40 + "}\n"
    assert outline(text, "cpp", 400) == [(("f",), "// word"), (("f",), "void f() {")]


def test_a_name_too_long_to_be_one_is_left_out():
    text = f"void {'a' * 300}() {{\n" + "  g();\n" * 40 + "}\n"
    assert {c.breadcrumbs for c in chunks_in(text, "cpp", 400)} == {()}
