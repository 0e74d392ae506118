"""Spans: they cover the text, stay within the limit, and are what they say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval_server.engine.chunkers import Chunk, LineIndex, chunk_text

LANGUAGES = ["python", "markdown", "text"]
_FRAGMENTS = st.sampled_from(
    ["def f(x):\n", "class A:\n", "    def g(self):\n", "        return 1\n", "@d\n", "# Title\n", "## Sub\n",
     "```\n", "Title\n===\n", "\n", "\r\n",
     "\r", "word ", "東京 ", "🚀", "é", "x" * 90, '"""', "'", "(", "\t", " ", "\x0c", "\u2028"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=400), st.lists(_FRAGMENTS, max_size=60).map("".join))


def chunks(text: str, language: str, limit: int = 2000) -> list[Chunk]:
    return chunk_text(text, LineIndex(text), language, limit)


def bodies(text: str, language: str, limit: int = 2000) -> list[str]:
    return [text[c.start_char : c.end_char] for c in chunks(text, language, limit)]


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=TEXTS, limit=st.integers(64, 300))
@settings(max_examples=150, deadline=None)
def test_spans_cover_all_that_is_not_blank_and_stay_within_the_limit(language: str, text: str, limit: int):
    covered = bytearray(len(text))
    previous_start = -1
    for chunk in chunks(text, language, limit):
        assert 0 < chunk.end_char - chunk.start_char <= limit
        assert chunk.start_char > previous_start
        previous_start = chunk.start_char
        covered[chunk.start_char : chunk.end_char] = b"\1" * (chunk.end_char - chunk.start_char)
        assert text[chunk.start_char : chunk.end_char].strip()
    assert all(covered[i] for i, char in enumerate(text) if not char.isspace())


@given(text=TEXTS)
@settings(deadline=None)
def test_lines_are_counted_as_an_editor_counts_them(text: str):
    normalised = text.replace("\r\n", "\n").replace("\r", "\n")
    for chunk in chunks(text, "text", 64):
        before = text[: chunk.start_char].replace("\r\n", "\n").replace("\r", "\n")
        if text[: chunk.start_char].endswith("\r") and text[chunk.start_char :].startswith("\n"):
            continue  # a span that begins inside a CRLF has no line of its own in the normalised text
        assert chunk.start_line == before.count("\n") + 1
        assert chunk.start_line <= chunk.end_line <= normalised.count("\n") + 1


def test_a_small_file_is_one_chunk_and_several_definitions_lend_no_name():
    text = "import os\n\n\ndef f():\n    pass\n\n\nclass A:\n    pass\n"
    (only,) = chunks(text, "python")
    assert (only.breadcrumbs, only.names) == ((), ("f", "A"))
    assert (only.start_line, only.end_line) == (1, 9)


def test_a_large_class_is_cut_by_its_methods_with_breadcrumbs():
    body = "        x = 1\n" * 8
    text = f"class Outer:\n    '''Doc.'''\n\n    def first(self):\n{body}\n    @property\n    def second(self):\n{body}"
    found = chunks(text, "python", 160)
    assert [c.breadcrumbs for c in found] == [("Outer",), ("Outer", "first"), ("Outer", "second")]
    assert bodies(text, "python", 160)[2].startswith("    @property\n    def second(self):")


def test_a_large_function_is_split_between_lines():
    text = "def f():\n" + "".join(f"    value_{i} = {i}\n" for i in range(60))
    found = bodies(text, "python", 300)
    assert len(found) > 3
    assert all(body.startswith(("def f", "    value_")) for body in found)
    assert {c.breadcrumbs for c in chunks(text, "python", 300)} == {("f",)}


def test_broken_python_keeps_its_text():
    text = "def f(:\n  ((\nclass\n" + "x = [\n" * 50
    assert "".join("".join(bodies(text, "python")).split()) == "".join(text.split())


def test_offsets_count_code_points_not_bytes():
    text = "x = '東京🚀'\n\n\ndef é():\n    return '🚀'\n"
    assert bodies(text, "python", 64) == [text.rstrip()]
    assert [c.breadcrumbs for c in chunks("y = '東京東京'\n" * 6 + text, "python", 70)][-1] == ("é",)


def test_markdown_sections_know_the_headings_above_them():
    text = "intro\n\n# Guide\n\ntext\n\n## Install\n\nmore\n\n```\n# not a heading\n```\n\n# Other\n\nend\n"
    assert [(c.breadcrumbs, c.start_line) for c in chunks(text, "markdown")] == [
        ((), 1),
        (("Guide",), 3),
        (("Guide", "Install"), 7),
        (("Other",), 15),
    ]


def test_underlined_headings_count_and_rules_do_not():
    text = "Title\n=====\n\na\n\nSub\n---\n\nb\n\n---\n\nc\n"
    assert [c.breadcrumbs for c in chunks(text, "markdown")] == [("Title",), ("Title", "Sub")]


def test_a_line_longer_than_a_chunk_is_cut_at_spaces():
    text = "word " * 100
    assert all(body == " ".join(["word"] * len(body.split())) for body in bodies(text, "text", 64))


def test_nesting_of_five_thousand_parentheses_is_text_like_any_other():
    text = "(" * 5000
    assert "".join(dict.fromkeys("".join(bodies(text, "python")))) == "("


@pytest.mark.timeout(20)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "hostile",
    ["# a" + " " * 50_000 + "b", "#" * 50_000, "`" * 50_000, "~~~\n" * 20_000, " " * 50_000 + "x", "=" * 50_000 + "x",
     "# " + "#  " * 20_000 + "x", "." * 50_000, "a." * 30_000, "\r" * 50_000, "a\n-" * 20_000, "[" * 50_000],
)  # fmt: skip
def test_hostile_text_takes_no_longer_than_other_text(language: str, hostile: str):
    covered = "".join(bodies(hostile, language, 20_000))
    assert set(covered.split()) or not hostile.strip()


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# A", "A"),
        ("## B ##", "B"),
        ("# C#", "C#"),
        ("#", ""),
        ("# #", ""),
        ("#\tD\t", "D"),
        ("### C # D ###  ", "C # D"),
    ],
)
def test_headings_lose_their_marks(line: str, title: str):
    assert [c.breadcrumbs for c in chunks(f"{line}\n\ntext\n", "markdown")] == [(title,) if title else ()]


LINED = {
    "text": "A line\ngoes on\n\n" * 60,
    "markdown": "---\ntitle: Harbour\n---\n# Berths\n\nThere are many.\n\n## Tides\n\nThere are two.\n",
    "yaml": "berth:\n  depth: 3\ncrane:\n  load: 12\n" * 30,
    "python": "class Crane:\n    def lift(self):\n"
    + "        self.load += 1\n" * 40
    + "\n    def rest(self):\n        pass\n",
    "c": "int lift(int load) {\n" + "  load++;\n" * 60 + "}\n\n// Puts it down.\nint rest(int load) { return 0; }\n",
    "go": "package crane\n\n// Lift lifts.\nfunc Lift() {\n" + "\tload()\n" * 60 + "}\n\nfunc Rest() {}\n",
}


@pytest.mark.parametrize("language", LINED)
def test_lines_that_end_with_cr_alone_are_lines(language: str):
    text = LINED[language]
    assert chunks(text.replace("\n", "\r"), language, 400) == chunks(text, language, 400)


def test_paragraphs_are_kept_whole_whatever_ends_their_lines():
    text = "".join(f"Paragraph {number}\nhas two lines\n\n" for number in range(20))
    whole = [body.splitlines() for body in bodies(text, "text", 100)]
    for line_end in ("\r\n", "\r"):
        lines_of_bodies = [body.splitlines() for body in bodies(text.replace("\n", line_end), "text", 110)]
        assert all(lines[0].startswith("Paragraph") for lines in lines_of_bodies)
    assert all(lines[0].startswith("Paragraph") for lines in whole)
