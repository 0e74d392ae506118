"""Sentence splitting: prose, lists, code, and text made to hurt."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.generation.text.sentences import line_spans, split_sentences


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It retries. Then it stops!  Why?", ["It retries.", "Then it stops!", "Why?"]),
        ("Use e.g. `queue.put`. Dr. Knuth agrees.", ["Use e.g. `queue.put`.", "Dr. Knuth agrees."]),
        ("Version 3.11 is needed. It takes 2.5 s.", ["Version 3.11 is needed.", "It takes 2.5 s."]),
        ("See cf. Fig. 3 for it", ["See cf. Fig. 3 for it"]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("Call `a. B` first. Then go.", ["Call `a. B` first.", "Then go."]),
        ("wrapped\nover lines. Next\none.", ["wrapped\nover lines.", "Next\none."]),
        ("Steps:\n1. First do this.\n2. Then that.", ["Steps:", "1. First do this.", "2. Then that."]),
        ("- one\n- two. Three", ["- one", "- two.", "Three"]),
        ("# Title\nBody text.", ["# Title", "Body text."]),
        ("Run:\n```python\nx = a. B()\n\ny = 1\n```\nDone.", ["Run:", "x = a. B()", "y = 1", "Done."]),
        ("第一句。第二句！", ["第一句。", "第二句！"]),
        ("The file main.py holds it. run.", ["The file main.py holds it. run."]),
        ("Wait... What?", ["Wait...", "What?"]),
        ("J. Doe wrote it.", ["J. Doe wrote it."]),
        ("", []),
        (" \n\t\r\n", []),
    ],
)
def test_splits_at_the_ends_of_sentences_only(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(alphabet=st.sampled_from("aB1. \n\r`#-*?!。\"')[]~x")) | st.text())
def test_spans_are_in_order_trimmed_and_cover_all_but_fences_and_white_space(text: str) -> None:
    spans = split_sentences(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    if "```" not in text and "~~~" not in text:
        outside = "".join(
            text[end:start]
            for end, start in zip([0, *(e for _, e in spans)], [*(s for s, _ in spans), len(text)], strict=True)
        )
        assert not outside.strip()


@given(
    st.lists(st.text(alphabet=st.characters(exclude_characters="\r\n")), min_size=1),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_lines_end_at_each_kind_of_break(lines: list[str], line_break: str) -> None:
    text = line_break.join(lines)
    assert [text[start:end] for start, end in line_spans(text)] == lines


@pytest.mark.parametrize("unit", [".", "`", "``` ", "a.", "1. ", '"', ". A", "[1]", "\n", "((((", "e.g. ", "` ``"])
def test_hostile_text_is_linear(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    began_s = time.perf_counter()
    split_sentences(text)
    assert time.perf_counter() - began_s < 5
