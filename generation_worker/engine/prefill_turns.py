"""Whose prompt is read next: short ones soon, long ones never forgotten."""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_STEPS_PASSED_OVER = 7
"""So often the oldest prompt lets shorter ones go first; then it has a step of its own."""


@dataclass(frozen=True, slots=True)
class UnreadPrompt:
    """A prompt of which `remaining_tokens` (at least 1) are to be read; `key` rises in the order of arrival."""

    key: int
    remaining_tokens: int


class PrefillTurns:
    """Shares out each step's tokens: the shortest rest first, so that nobody queues behind a long prompt.

    Almost all of a step goes to one prompt: llama.cpp computes a batch in as many passes over the weights as it has
    rows of different length, so three shares would cost three passes. Everybody gets one token all the same: that row
    travels with the tokens being written, in a pass that is made anyhow.
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
        for place, prompt in enumerate(order):
            kept_for_others = len(order) - place - 1
            share = min(prompt.remaining_tokens, max(1, budget_tokens - kept_for_others))
            if budget_tokens <= 0:
                break
            shares[prompt.key] = share
            budget_tokens -= share
        return shares
