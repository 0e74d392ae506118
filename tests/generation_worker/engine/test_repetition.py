"""Noticing loops."""

import pytest

from generation_worker.engine.repetition import is_looping


@pytest.mark.parametrize("period", [1, 2, 5, 16, 24, 64])
def test_a_loop_is_noticed_however_long_its_round(period: int):
    tokens = [*range(1000, 1030)]
    while not is_looping(tokens):
        tokens.append(len(tokens) % period)
        assert len(tokens) < 30 + max(49, 4 * period)


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [7] * 40,  # a ruler of dashes is no loop
        [*range(500)],
        [1, 2, 3, 4] * 11,
        [*range(30), *range(30)],  # said twice
    ],
)
def test_what_repeats_a_little_is_no_loop(tokens: list[int]):
    assert not is_looping(tokens)
