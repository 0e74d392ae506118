"""Passages that were made of a record: they answer like any other, and are cited by what they were made of."""

import pytest

from retrieval_server.generation.answers.answer_model import Citation
from retrieval_server.generation.checking.citations import check_answer
from retrieval_server.generation.extracting.extractive import extract_answer
from retrieval_server.generation.packing.packing import PackingOptions, cut, pack_passages, span_of
from retrieval_server.model import Passage
from tests.retrieval_server.generation.documents import derived, line_number

RECORDS = """[
  {"department": "Knots",
   "topic": "Faculty",
   "list": [
     "Ada Bowline",
     "Ben Hitch"
   ]}
]
"""
START = RECORDS.index('"list"')
LIST_START, END = RECORDS.index('"Ada'), RECORDS.index("]}") + 1
COUNT = derived(RECORDS, START, END, "Total faculty: 2 (Knots)")
LIST = derived(RECORDS, LIST_START, END, "Faculty, Knots\n1. Ada Bowline\n2. Ben Hitch")


def assert_cites_origin(citation: Citation, passage: Passage) -> None:
    assert (citation.start_char, citation.end_char) == (passage.start_char, passage.end_char)
    assert citation.text == RECORDS[citation.start_char : citation.end_char]
    assert citation.start_line == line_number(RECORDS, citation.start_char)
    assert citation.end_line == line_number(RECORDS, citation.end_char)


def test_an_extractive_count_is_said_as_made_and_cites_its_list() -> None:
    extracted = extract_answer("How many faculty does Knots have?", [COUNT, LIST])
    assert "Total faculty: 2" in extracted.text
    assert_cites_origin(extracted.citations[extracted.sentences[0].citation_indexes[0]], COUNT)


def test_further_pieces_of_one_derived_passage_share_its_citation() -> None:
    text = "Rules\nThe lamp burns at night.\n\nThe bell rings twice in fog."
    passage = derived(RECORDS, LIST_START, END, text)
    extracted = extract_answer("When does the lamp burn at night, and the bell ring in fog?", [passage])
    assert "lamp burns" in extracted.text
    assert "bell rings" in extracted.text
    assert len(extracted.citations) == 1
    assert [one.citation_indexes for one in extracted.sentences] == [(0,)] * len(extracted.sentences)
    assert_cites_origin(extracted.citations[0], passage)


def test_a_generated_answer_is_checked_against_what_was_made_and_cites_the_origin() -> None:
    question = "How many faculty has Knots?"
    checked = check_answer("The faculty of Knots are 2 in total.", [LIST, COUNT], question=question)
    assert checked.acceptable
    (citation,) = checked.citations
    assert citation.passage_index == 1
    assert_cites_origin(citation, COUNT)
    wrong = check_answer("The faculty of Knots are 7 in total.", [LIST, COUNT], question=question)
    assert not wrong.acceptable


def test_derived_passages_are_packed_apart_although_their_origins_overlap() -> None:
    packing = pack_passages("q", [COUNT, LIST], PackingOptions())
    assert [one.passage for one in packing.packed] == [COUNT, LIST]
    assert not packing.dropped


@pytest.mark.parametrize("focus_chars", [20, 200])
def test_focus_keeps_a_derived_passage_whole_or_not_at_all(focus_chars: int) -> None:
    packing = pack_passages("Who are the faculty of Knots?", [LIST, COUNT], PackingOptions(focus_chars=focus_chars))
    assert packing.packed
    assert all(one.passage in (LIST, COUNT) for one in packing.packed)
    assert len(packing.packed) + len(packing.dropped) == 2


def test_focus_without_anything_to_keep_keeps_the_best_whole() -> None:
    packing = pack_passages("zebra?", [LIST, COUNT], PackingOptions(focus_chars=20))
    assert [one.passage for one in packing.packed] == [LIST]


def test_a_derived_passage_is_found_again_by_its_span_and_never_cut() -> None:
    assert cut(LIST, 3, 9) == LIST
    assert span_of([COUNT, LIST], (1,), LIST.start_char, LIST.end_char) == LIST
