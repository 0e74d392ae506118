"""Leaving a backend alone that fails again and again, so that jobs need not wait for it one after the other."""

import time
from collections.abc import Callable
from enum import Enum


class BreakerState(Enum):
    """Who may use what a breaker guards."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half open"


class CircuitBreaker:
    """Closed while it works, open for a while after several failures in a row, then half open: one try decides.

    Each `allows` that says True is to be followed by one `succeeded`, `failed` or `withdrew`.
    """

    def __init__(
        self, *, failure_limit: int, cooldown_s: float, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._failure_limit = failure_limit
        self._cooldown_s = cooldown_s
        self._monotonic_s = monotonic_s
        self._failure_count = 0
        self._opened_s: float | None = None
        self._is_trying = False

    @property
    def state(self) -> BreakerState:
        """Its state now."""
        if self._opened_s is None:
            return BreakerState.CLOSED
        is_cool = self._monotonic_s() >= self._opened_s + self._cooldown_s
        return BreakerState.HALF_OPEN if is_cool else BreakerState.OPEN

    def allows(self) -> bool:
        """Say whether to use it; while it is half open only one may."""
        if self.state is BreakerState.CLOSED:
            return True
        if self.state is BreakerState.OPEN or self._is_trying:
            return False
        self._is_trying = True
        return True

    def succeeded(self) -> None:
        """It works: closed."""
        self._failure_count, self._opened_s, self._is_trying = 0, None, False

    def failed(self) -> None:
        """It does not: open at the limit, or at once when it was the one try. Late news from before change nothing."""
        self._failure_count += 1
        is_try = self.state is BreakerState.HALF_OPEN
        if is_try or (self._opened_s is None and self._failure_count >= self._failure_limit):
            self._opened_s = self._monotonic_s()
        self._is_trying = self._is_trying and not is_try

    def withdrew(self) -> None:
        """It was not found out: somebody else may try."""
        self._is_trying = False
