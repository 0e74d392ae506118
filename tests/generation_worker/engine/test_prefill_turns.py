"""Whose prompt is read next."""

from hypothesis import given
from hypothesis import strategies as st

from generation_worker.engine.prefill_turns import MOST_STEPS_PASSED_OVER, PrefillTurns, UnreadPrompt

BUDGET = 64


def read_until_done(turns: PrefillTurns, remaining: dict[int, int], key: int) -> int:
    """Steps until the prompt `key` is read; the others are read meanwhile."""
    steps = 0
    while key in remaining:
        shares = turns.share([UnreadPrompt(*item) for item in remaining.items()], BUDGET)
        for of, count in shares.items():
            remaining[of] -= count
            if not remaining[of]:
                del remaining[of]
        steps += 1
    return steps


def test_a_prompt_by_itself_gets_the_whole_step():
    assert PrefillTurns().share([UnreadPrompt(1, 1000)], BUDGET) == {1: BUDGET}
    assert PrefillTurns().share([UnreadPrompt(1, 10)], BUDGET) == {1: 10}


def test_what_one_prompt_leaves_goes_to_the_next_shortest():
    prompts = [UnreadPrompt(1, 500), UnreadPrompt(2, 10), UnreadPrompt(3, 100)]
    assert PrefillTurns().share(prompts, BUDGET) == {2: 10, 3: 54}


def test_no_piece_is_a_single_token():
    assert PrefillTurns().share([UnreadPrompt(1, BUDGET + 1)], BUDGET) == {1: BUDGET - 1}
    assert PrefillTurns().share([UnreadPrompt(1, BUDGET - 1), UnreadPrompt(2, 90)], BUDGET) == {1: BUDGET - 1}


def test_a_short_prompt_is_read_at_once_beside_four_long_ones():
    turns = PrefillTurns()
    remaining = dict.fromkeys(range(1, 5), 2000)
    for _ in range(5):
        for key, count in turns.share([UnreadPrompt(*item) for item in remaining.items()], BUDGET).items():
            remaining[key] -= count
    remaining[5] = 128
    assert read_until_done(turns, remaining, 5) <= 3  # alone it takes two


def test_a_long_prompt_is_read_however_many_short_ones_come():
    turns = PrefillTurns()
    remaining, steps, next_key = {1: 1000}, 0, 2
    while 1 in remaining:
        remaining[next_key] = BUDGET
        next_key += 1
        for key, count in turns.share([UnreadPrompt(*item) for item in remaining.items()], BUDGET).items():
            remaining[key] -= count
            if not remaining[key]:
                del remaining[key]
        steps += 1
        assert steps <= (1000 // (BUDGET // 4) + 1) * (MOST_STEPS_PASSED_OVER + 1)


@given(st.lists(st.integers(2, 3000), min_size=1, max_size=20), st.integers(8, 80))
def test_every_step_reads_nearly_all_that_it_can_and_leaves_no_single_token(lengths: list[int], budget: int):
    prompts = [UnreadPrompt(key, length) for key, length in enumerate(lengths)]
    shares = PrefillTurns().share(prompts, budget)
    assert min(budget, sum(lengths)) - 2 <= sum(shares.values()) <= budget
    for key, share in shares.items():
        assert 2 <= share <= lengths[key]
        assert lengths[key] - share != 1
