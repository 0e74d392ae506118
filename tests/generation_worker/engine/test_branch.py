"""The sequences of one generation: what is due in each, and how they share a step."""

import pytest

from generation_worker.decoding.preferences import Preferences
from generation_worker.engine.branch import Branch, shared_out
from generation_worker.engine.slots import Slot


def branch(prompt_tokens: int, computed: int = 0) -> Branch:
    tokens = [*range(prompt_tokens)]
    return Branch(Slot(0, tokens[:computed]), tokens, prompt_tokens, prompt_tokens, Preferences())


@pytest.mark.parametrize(
    ("unread", "count", "parts"),
    [
        ((10, 10), 4, [4]),
        ((10, 10), 14, [10, 4]),
        ((10, 10), 11, [10]),  # one token of the second alone would round otherwise
        ((10, 10), 9, [8]),  # and so would the last one of the first
        ((10, 10), 19, [10, 8]),
        ((10, 10), 50, [10, 10]),
        ((3,), 2, []),
        ((), 9, []),
    ],
)
def test_one_after_the_other_reads_and_no_token_is_read_alone(
    unread: tuple[int, ...], count: int, parts: list[int]
) -> None:
    branches = [branch(number + 5, computed=5) for number in unread]
    shared = [*shared_out(branches, count)]
    assert [part for _, part in shared] == parts
    assert [one for one, _ in shared] == branches[: len(parts)]


def test_it_reads_then_waits_then_writes() -> None:
    one = branch(4, computed=2)
    assert (one.is_reading, one.is_writing, one.unread_tokens) == (True, False, 2)
    assert [(row.position, row.wants_next) for row in one.next_rows(2)] == [(2, False), (3, True)]
    one.slot.tokens += [2, 3]
    assert (one.is_reading, one.is_writing) == (False, False)
    one.write(77)
    assert (one.is_reading, one.is_writing) == (False, True)
    [row] = one.next_rows(1)
    assert (row.token, row.position, row.wants_next) == (77, 4, True)
