"""Whose prompt is read next: short ones soon, long ones never forgotten."""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_STEPS_PASSED_OVER = 7
"""So often the oldest prompt lets shorter ones go first; then it has a step of its own."""


MIN_SHARE_TOKENS = 2
"""llama.cpp adds up in another order where a sequence has one token alone: so that a prompt's rounding does not depend
on the pieces it is read in, none of them is a single token."""


@dataclass(frozen=True, slots=True)
class UnreadPrompt:
    """A prompt of which `remaining_tokens`, at least two, are to be read; `key` rises in the order of arrival."""

    key: int
    remaining_tokens: int


class PrefillTurns:
    """Shares out each step's tokens: the shortest rest first, so that nobody queues behind a long prompt.

    A step goes to one prompt, what that leaves to the next: each share costs a pass over the weights.
    """

    def __init__(self) -> None:
        self._steps_passed_over = 0

    def share(self, prompts: Sequence[UnreadPrompt], budget_tokens: int) -> dict[int, int]:
        """Return how many tokens of which prompt to read, by key; no more than `budget_tokens` in all."""
        if not prompts:
            return {}
        by_age = sorted(prompts, key=lambda prompt: prompt.key)
        order = sorted(by_age, key=lambda prompt: prompt.remaining_tokens)
        oldest = by_age[0]
        if self._steps_passed_over >= MOST_STEPS_PASSED_OVER:
            order = [oldest, *(prompt for prompt in order if prompt is not oldest)]
        self._steps_passed_over = 0 if order[0] is oldest else self._steps_passed_over + 1
        shares: dict[int, int] = {}
        for prompt in order:
            share = min(prompt.remaining_tokens, budget_tokens)
            if 0 < prompt.remaining_tokens - share < MIN_SHARE_TOKENS:
                share = prompt.remaining_tokens - MIN_SHARE_TOKENS
            if share < MIN_SHARE_TOKENS:
                break
            shares[prompt.key] = share
            budget_tokens -= share
        return shares
