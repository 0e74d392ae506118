"""What a model is given: nothing twice, parts that answer, whole lines, and every drop told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.generation.packing.packing import (
    DropReason,
    PackingOptions,
    PackingOrder,
    cut,
    ordered,
    pack_passages,
    span_of,
    without,
)
from retrieval_server.model import ContentKind, Passage
from tests.retrieval_server.generation.checking.test_citations import documents_cut_into_passages
from tests.retrieval_server.generation.documents import line_number, passage_of, whole

GUIDE = "# Locks\n\nThe outer lock opens at 05:30.\n\nPilots wait ashore.\n\n# Cranes\n\nA crane lifts 40 t."


def part(start: int, end: int, path: str = "a.md") -> Passage:
    return passage_of(GUIDE, start, end, path=path, kind=ContentKind.DOCS)


def dropped(packing) -> dict[int, DropReason]:
    return {one.passage_index: one.reason for one in packing.dropped}


def test_passages_that_overlap_or_adjoin_become_one_at_the_place_of_the_best() -> None:
    packing = pack_passages(
        "q", [part(30, 60), whole("other", path="b.md"), part(0, 40), part(60, 70)], PackingOptions()
    )
    assert [one.passage_indexes for one in packing.packed] == [(0, 2, 3), (1,)]
    joined = packing.packed[0].passage
    assert joined.text == GUIDE[0:70]
    assert (joined.start_char, joined.end_char, joined.start_line, joined.end_line) == (
        0,
        70,
        1,
        line_number(GUIDE, 70),
    )


def test_a_passage_inside_of_a_better_one_is_dropped_as_a_duplicate() -> None:
    packing = pack_passages("q", [part(0, 60), part(10, 20), part(0, 60, "c.md")], PackingOptions())
    assert dropped(packing) == {1: DropReason.DUPLICATE}


def test_a_document_gives_no_more_passages_than_allowed() -> None:
    passages = [part(0, 20), part(40, 50), part(0, 20, "b.md"), part(70, 80)]
    packing = pack_passages("q", passages, PackingOptions(max_per_source=1))
    assert [one.passage_indexes for one in packing.packed] == [(0,), (2,)]
    assert dropped(packing) == {1: DropReason.PER_SOURCE, 3: DropReason.PER_SOURCE}


def test_focus_keeps_the_lines_that_answer_and_tells_what_it_drops() -> None:
    passages = [whole(GUIDE), whole("Nothing to see.\n", path="b.md")]
    packing = pack_passages("When does the outer lock open?", passages, PackingOptions(focus_chars=31))
    (only,) = packing.packed
    assert only.passage.text == "The outer lock opens at 05:30."
    assert (only.passage.start_line, only.passage.end_line) == (3, 3)
    assert dropped(packing) == {1: DropReason.FOCUS}


def test_focus_puts_the_lines_that_state_a_value_first() -> None:
    code = (
        "class Crane:\n    def lift(self, load, speed: str = 'slow'):\n        self.speed = speed\n"
        + "    # speed\n" * 30
    )
    question = "What is the default value of speed in Crane.lift?"
    packing = pack_passages(question, [whole(code, path="c.py", kind=ContentKind.CODE)], PackingOptions(focus_chars=47))
    assert packing.packed[0].passage.text == "    def lift(self, load, speed: str = 'slow'):"


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (PackingOrder.BEST_FIRST, [(0,), (1,), (2,)]),
        (PackingOrder.BEST_LAST, [(2,), (1,), (0,)]),
        (PackingOrder.DOCUMENT, [(2,), (0,), (1,)]),
    ],
)
def test_the_order_is_the_one_asked_for(order: PackingOrder, expected: list[tuple[int, ...]]) -> None:
    packing = pack_passages("q", [part(60, 80), whole("other", path="b.md"), part(0, 20)], PackingOptions())
    assert [one.passage_indexes for one in ordered(packing, order).packed] == expected


def test_what_does_not_fit_the_budget_is_dropped_unless_another_part_of_it_is_packed() -> None:
    passages = [whole(GUIDE), whole("word " * 9, path="b.md")]
    packing = pack_passages("crane lock word", passages, PackingOptions(focus_chars=90))
    assert len(packing.packed) == 3
    left = without(packing, [2])
    assert len(left.packed) == 2
    gone = {index for one in packing.packed for index in one.passage_indexes} - {
        index for one in left.packed for index in one.passage_indexes
    }
    assert dropped(left) == dict.fromkeys(gone, DropReason.BUDGET)


@given(documents_cut_into_passages(), st.text(max_size=30), st.integers(min_value=0, max_value=300))
def test_whatever_is_packed_stands_in_its_document_and_can_be_found_again(
    cut_document: tuple[str, list[Passage]], question: str, focus_chars: int
) -> None:
    document, passages = cut_document
    packing = pack_passages(question, passages, PackingOptions(focus_chars=focus_chars))
    for one in packing.packed:
        passage = one.passage
        assert passage.text == document[passage.start_char : passage.end_char]
        assert passage.start_line == line_number(document, passage.start_char)
        assert passage.end_line == line_number(document, passage.end_char)
        assert span_of(passages, one.passage_indexes, passage.start_char, passage.end_char).text == passage.text
    shown = {index for one in packing.packed for index in one.passage_indexes}
    assert shown.isdisjoint(dropped(packing))
    assert shown | dropped(packing).keys() == set(range(len(passages)))


def test_a_part_has_its_own_span_and_lines() -> None:
    taken = cut(part(2, 80), 7, 20)
    assert taken.text == GUIDE[9:22]
    assert (taken.start_char, taken.end_char, taken.start_line) == (9, 22, line_number(GUIDE, 9))
