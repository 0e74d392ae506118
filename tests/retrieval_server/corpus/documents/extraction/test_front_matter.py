"""Front matter: what a Markdown file says about itself."""

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.retrieval_server.corpus.documents.extraction.parsed import outline, parsed

YAML = """---
title: "Tides: a guide"
weight: 3
draft: true
tags: [sea, 12]
date: 2024-03-01
updated: 2024-03-01T12:30:00+02:00
author:
  name: Ada
  langs: [en]
empty:
odd: .inf
deep: {a: {b: {c: {d: 1}}}}
---

# Reckoning

text
"""


def test_yaml_becomes_title_and_metadata_and_stays_in_the_text():
    document = parsed("a.md", YAML)
    assert document.decoded.text == YAML
    assert document.title == "Tides: a guide"
    assert document.metadata == {
        "title": "Tides: a guide",
        "weight": 3.0,
        "draft": "true",
        "tags": ("sea", "12"),
        "date": "2024-03-01",
        "updated": "2024-03-01T10:30:00.000000Z",
        "author.name": "Ada",
        "author.langs": ("en",),
    }


def test_toml_becomes_title_and_metadata():
    document = parsed("a.md", "+++\ntitle = 'Gate'\ncount = 2\n[extra]\nx = 1.5\n+++\ntext\n")
    assert (document.title, document.metadata) == ("Gate", {"title": "Gate", "count": 2.0, "extra.x": 1.5})


def test_front_matter_goes_with_what_follows_and_its_title_stands_above():
    (only,) = outline(parsed("a.md", YAML))
    assert only[0] == ("Tides: a guide", "Reckoning")
    assert only[1].startswith("---\ntitle")
    (plain,) = outline(parsed("a.md", "---\ntoc_depth: 3\n---\n\nNo heading.\n"))
    assert plain[0] == ()


def test_a_heading_equal_to_the_title_is_not_named_twice():
    assert outline(parsed("a.md", "---\ntitle: A\n---\n# A\n\nx\n"))[0][0] == ("A",)


def test_without_front_matter_the_first_heading_is_the_title():
    document = parsed("a.md", "intro\n\n# A\n\nx\n")
    assert (document.title, document.metadata) == ("A", {})


@pytest.mark.parametrize(
    "text",
    [
        "---\n\n# A rule, then a title\n\n---\n",
        "---\na: [\n---\ntext\n",
        "---\na: !!python/object:os.system x\n---\ntext\n",
        "---\na: &a {k: v}\nb: {<<: *a}\n---\ntext\n",
        "---\na: " + "[" * 5000 + "\n---\n",
        "---\n- a\n- b\n---\n",
        "---\na: 9" + "9" * 5000 + "\n---\ntext\n",
        "---\na: 1" + "0" * 400 + "\n---\ntext\n",
        "---\na: 1\nnever closed\n",
        "+++\na = \n+++\n",
        "--- a\ntitle: x\n---\n",
    ],
)
def test_what_is_broken_or_none_is_only_text(text: str):
    assert parsed("a.md", text).metadata == {}


def test_a_recursive_or_huge_value_ends_somewhere():
    document = parsed("a.md", "---\na: &a [*a, x]\nb: &b [" + "y" * 9000 + "]\nc: [*b" + ", *b" * 500 + "]\n---\n")
    assert document.metadata["a"] == ("x",)
    assert sum(len(str(value)) for value in document.metadata.values()) < 70_000


def test_keys_beyond_the_limits_are_left_out():
    lines = "".join(f"key_{i}: 1\n" for i in range(80))
    document = parsed("a.md", f"---\n{'k' * 200}: 1\n{lines}---\ntext\n")
    assert len(document.metadata) == 64
    assert "key_0" in document.metadata


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_front_matter_is_a_document(text: str):
    text = "".join(char for char in text if not "\ud800" <= char <= "\udfff" and char != "\0")
    document = parsed("a.md", f"---\nx: {text}\n---\nbody\n")
    for key, value in document.metadata.items():
        key.encode()
        assert not isinstance(value, float) or math.isfinite(value)


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00"])
def test_a_time_that_utc_does_not_have_is_left_out(moment: str):
    assert parsed("a.md", f"---\ntitle: T\ndate: {moment}\n---\ntext\n").metadata == {"title": "T"}


def test_aliases_that_stand_for_millions_of_fields_cost_little():
    level = ", ".join(f"k{number}: null" for number in range(400))
    nested = ", ".join(f"k{number}: *a" for number in range(400))
    many = "".join(f"c{number}: *b\n" for number in range(200))
    started_s = time.process_time()
    document = parsed("a.md", f"---\ntitle: T\na: &a {{{level}}}\nb: &b {{{nested}}}\n{many}---\ntext\n")
    assert time.process_time() - started_s < 10
    assert document.title == "T"
