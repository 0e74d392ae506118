"""The steps of a commit, in order, for tests that let the process die between any two of them."""

from collections.abc import Callable
from enum import Enum


class CommitStep(Enum):
    """A point that a commit passes."""

    IN_TRANSACTION = "in_transaction"
    STORED = "stored"
    INDEXED = "indexed"
    LEXICAL_RECORDED = "lexical_recorded"
    PUBLISHED = "published"


def _go_on(step: CommitStep) -> None:
    del step


on_step: Callable[[CommitStep], None] = _go_on
"""Called as each step is passed."""


def passed(step: CommitStep) -> None:
    """Say that a step is done."""
    on_step(step)
