"""reStructuredText by heading and by what it describes."""

import pytest

from retrieval_server.engine.chunkers.rst_markup import directive_of, looks_like_restructuredtext
from tests.retrieval_server.engine.chunkers.spans import chunks_in, outline

BODY = "A sentence of some words. " * 6


def crumbs(text: str, limit: int = 2000) -> list[tuple[str, ...]]:
    return [chunk.breadcrumbs for chunk in chunks_in(text, "restructuredtext", limit)]


def test_each_new_style_of_title_is_a_level_deeper_whatever_its_character():
    text = (
        "=====\nGuide\n=====\na\n\nPart\n====\nb\n\nDetail\n~~~~~~\nc\n\nPart 2\n======\nd\n\n=====\nOther\n=====\ne\n"
    )
    assert crumbs(text) == [
        ("Guide",),
        ("Guide", "Part"),
        ("Guide", "Part", "Detail"),
        ("Guide", "Part 2"),
        ("Other",),
    ]


def test_labels_and_marks_above_a_title_belong_to_it():
    text = "A\n=\n\ntext\n\n.. _b-label:\n\n.. setting:: BEE\n\n.. index:: b\n   single: b\n\nBEE\n---\n\nmore\n"
    assert outline(text, "restructuredtext") == [(("A",), "A"), (("A", "BEE"), ".. _b-label:")]


def test_a_note_or_a_mark_of_something_else_stays_where_it_is():
    text = "A\n=\n\ntext\n\n.. setting:: CEE\n\n.. note:: read this\n\nBee\n---\n\nmore\n"
    assert outline(text, "restructuredtext")[1] == (("A", "Bee"), "Bee")


def test_fields_of_the_document_go_with_its_title():
    assert outline(":orphan:\n\nA\n=\n\ntext\n", "restructuredtext") == [(("A",), ":orphan:")]


def test_a_title_without_text_goes_with_the_deeper_one_below_it():
    text = "A\n=\n\nB\n-\n\ntext\n\nC\n-\n\nD\n-\n\nmore\n"
    assert outline(text, "restructuredtext") == [(("A", "B"), "A"), (("A", "C"), "C"), (("A", "D"), "D")]


@pytest.mark.parametrize(
    "text",
    [
        "Example::\n\n    Title\n    =====\n\nend\n",  # literal block
        ".. code-block:: rst\n\n   Title\n   =====\n\nend\n",
        "a line\nof two\n======\n",  # a paragraph goes on above
        "text\n\n----------\n\nmore\n",  # transition
        "===== =====\nA     B\n===== =====\n1     2\n===== =====\n",  # table
        "A long title\n==\n",  # underline too short
        "Title\n==-==\n",
    ],
)
def test_what_is_no_title(text: str):
    assert set(crumbs(text)) == {()}


def test_titles_in_wide_characters_need_an_underline_as_wide():
    assert crumbs("東\n==\n\ntext\n") == [("東",)]
    assert crumbs("東\n=\n\ntext\n") == [()]


def test_line_ends_of_every_kind_end_titles():
    for end in ("\n", "\r\n", "\r"):
        assert crumbs(end.join(("A", "=", "", "text", "", "B", "-", "", "more"))) == [("A",), ("A", "B")]


def test_what_a_section_describes_is_kept_together_where_it_fits():
    function = f".. function:: {{}}(b=1)\n   :async:\n\n   {BODY}\n\n"
    text = f"API\n===\n\n{BODY}\n\n{function.format('go')}{function.format('stop')}{BODY}\n"
    found = chunks_in(text, "restructuredtext", 240)
    assert [text[c.start_char :].splitlines()[0] for c in found] == [
        "API",
        ".. function:: go(b=1)",
        ".. function:: stop(b=1)",
        BODY,
    ]
    assert {(c.breadcrumbs, c.names) for c in found} == {(("API",), ())}


def test_an_object_that_is_cut_is_in_the_breadcrumbs_of_its_parts():
    method = "   .. method:: {}()\n\n      " + BODY + "\n\n"
    text = f"API\n===\n\n.. class:: A\n\n{method.format('first')}{method.format('second') * 2}after\n"
    assert crumbs(text, 230) == [("API", "A"), ("API", "A"), ("API", "A"), ("API",)]
    assert crumbs(f"T\n=\n\n.. confval:: x\n\n   {BODY * 3}\n", 300) == [("T", "x"), ("T", "x")]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (".. class:: A(b, c=1)", "A"),
        (".. c:function:: int *gw_open(const char *path)", "gw_open"),
        (".. cpp:class:: template<T> ns::Box", "ns::Box"),
        (".. option:: --verbose LEVEL", "--verbose"),
        (".. autoclass:: pkg.mod.Thing", "pkg.mod.Thing"),
        (".. confval:: timeout_s", "timeout_s"),
        (".. http:get:: /users/(int:id)", "/users/"),
        (".. note:: Something", ""),
        (".. code-block:: python", ""),
        (".. tab-item:: Python", ""),
        (".. versionadded:: 2.1", ""),
        (".. callout:: Read all of this", ""),
        (".. grid:: 2", ""),
    ],
)
def test_names_of_what_directives_describe(line: str, name: str):
    found = directive_of(f"   {line}")
    assert found is not None
    assert (found.indent, found.object_name) == (3, name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("=====\nTitle\n=====\n\n.. note::\n\n   Read.\n\n.. _label:\n", True),
        ("Title\n=====\n\nPlain text with a heading.\n", False),
        ("A list of things ..\n.. and more\n", False),
        (".. note:: one\n", False),
    ],
)
def test_a_text_with_directives_is_restructuredtext_whatever_it_is_called(text: str, expected: bool):
    assert looks_like_restructuredtext(text) is expected


def test_directives_shown_as_examples_describe_nothing():
    shown = f"\n\n   .. class:: Shown\n\n      {BODY}\n\n"
    text = f"T\n=\n\n.. code-block:: rst{shown}Write this::{shown}"
    assert set(crumbs(text, 100)) == {("T",)}


def test_a_bare_mark_above_an_object_does_not_stand_alone():
    text = f"T\n=\n\n{BODY}\n\n.. reqmeta:: link_text\n.. class:: Rule(a)\n\n   {BODY}\n"
    assert outline(text, "restructuredtext", 230) == [(("T",), "T"), (("T",), ".. reqmeta:: link_text")]
