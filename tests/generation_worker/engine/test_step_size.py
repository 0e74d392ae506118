"""How many tokens a step has."""

from generation_worker.engine.step_size import MAX_STEP_TOKENS, MIN_STEP_TOKENS, lone_step_tokens, step_tokens


def test_it_follows_the_model_and_the_cores():
    assert step_tokens(135_000_000, 2, 8) == 64
    assert step_tokens(135_000_000, 4, 8) == 128
    assert step_tokens(600_000_000, 8, 8) == 64
    assert step_tokens(7_000_000_000, 2, 8) == MIN_STEP_TOKENS
    assert step_tokens(1_000_000, 64, 8) == MAX_STEP_TOKENS


def test_there_is_room_for_every_slot_to_write():
    assert step_tokens(7_000_000_000, 1, 64) == 128


def test_a_prompt_that_nobody_waits_for_is_read_in_larger_steps() -> None:
    assert lone_step_tokens(64) == 256
    assert lone_step_tokens(MAX_STEP_TOKENS) == MAX_STEP_TOKENS
