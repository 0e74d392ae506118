"""Noticing that a small model has begun to go round in circles."""

from collections.abc import Sequence

MAX_PERIOD_TOKENS = 64
MIN_LOOP_TOKENS = 48
MIN_ROUNDS = 3


def is_looping(tokens: Sequence[int]) -> bool:
    """Say whether the end of `tokens` is one sequence over and over: three rounds at least, and 48 tokens at least."""
    for period in range(1, MAX_PERIOD_TOKENS + 1):
        span = max(MIN_LOOP_TOKENS, period * MIN_ROUNDS)
        if span > len(tokens):
            continue
        tail = tokens[len(tokens) - span :]
        if tail[period:] == tail[:-period]:
            return True
    return False
