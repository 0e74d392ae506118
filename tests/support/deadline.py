"""Waiting for what another process does: polls with a deadline, never a bare sleep."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
POLL_S = 0.02


def wait_until(condition: Callable[[], T], *, timeout_s: float, what: str) -> T:
    """Return the first truthy value of `condition`; AssertionError naming `what` when none came in time."""
    deadline = time.monotonic() + timeout_s
    while True:
        if value := condition():
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s:g} s: {what}")
        time.sleep(POLL_S)
