"""Where a prompt is computed."""

from generation_worker.engine.holes import hole_fillers
from generation_worker.engine.slots import MIN_COPIED_TOKENS, Slot, place

LONG = list(range(MIN_COPIED_TOKENS * 3))


def test_the_slot_that_holds_most_of_the_prompt_is_taken():
    slots = [Slot(0, [1, 2]), Slot(1, [1, 2, 3, 4]), Slot(2, [1, 9])]
    placing = place(slots, [1, 2, 3, 7, 8, 9])
    assert placing is not None
    assert (placing.slot.sequence, placing.copied_from, placing.kept_tokens) == (1, None, 3)


def test_of_equals_the_first_is_taken():
    assert place([Slot(0, [1], is_free=False), Slot(1, [1]), Slot(2, [1])], [1, 2, 3]).slot.sequence == 1


def test_a_slot_that_is_in_use_is_copied_when_that_is_worth_it():
    busy = Slot(0, LONG, is_free=False)
    placing = place([busy, Slot(1, LONG[:50]), Slot(2, LONG[:9])], [*LONG, 1, 2])
    assert (placing.slot.sequence, placing.copied_from, placing.kept_tokens) == (2, busy, len(LONG))
    placing = place([busy, Slot(1, LONG[:50])], LONG[: 50 + MIN_COPIED_TOKENS])
    assert (placing.slot.sequence, placing.copied_from, placing.kept_tokens) == (1, None, 50)


def test_the_last_tokens_of_a_prompt_are_always_computed():
    assert place([Slot(0, [1, 2, 3])], [1, 2, 3]).kept_tokens == 1


def test_without_a_free_slot_there_is_no_place():
    assert place([Slot(0, is_free=False)], [1]) is None


def test_a_single_hole_between_used_slots_is_filled_and_a_wider_one_is_not():
    slots = [Slot(number, [1] * number) for number in range(8)]
    fillers = hole_fillers(slots, {0, 2, 3, 6}, 100)
    assert [(row.sequence, row.position) for row in fillers] == [(1, 1)]
    assert not any(row.wants_next for row in fillers)


def test_a_hole_without_room_is_left():
    assert hole_fillers([Slot(0), Slot(1, [1] * 5), Slot(2)], {0, 2}, 5) == []
