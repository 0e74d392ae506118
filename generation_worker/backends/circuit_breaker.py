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

    Each admission is to be followed by one `succeeded`, `failed` or `withdrew`, perhaps after one `begun`. What is told
    of one from before it opened, or closed again, comes too late and changes nothing.
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
        self._era = 0

    @property
    def state(self) -> BreakerState:
        """Its state now."""
        if self._opened_s is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if self.cooldown_left_s > 0 else BreakerState.HALF_OPEN

    @property
    def cooldown_left_s(self) -> float:
        """How long it stays open; 0 when it is not."""
        return 0.0 if self._opened_s is None else max(0.0, self._opened_s + self._cooldown_s - self._monotonic_s())

    @property
    def admits(self) -> bool:
        """Whether `admit` would give an admission now."""
        state = self.state
        return state is BreakerState.CLOSED or (state is BreakerState.HALF_OPEN and not self._is_trying)

    def admit(self) -> int | None:
        """Return an admission to use it, None when it is to be left alone; while it is half open only one may try."""
        if not self.admits:
            return None
        self._is_trying = self._opened_s is not None
        return self._era

    def begun(self, admission: int) -> int:
        """The try has its first word: closed, as its end may be minutes away, and open again if one fails before that.

        To be called once the first word is there; returns the admission that the end is to be told with.
        """
        if admission == self._era and self._is_trying:
            self._turn(None)
            self._failure_count = self._failure_limit - 1
            return self._era
        return admission

    def succeeded(self, admission: int) -> None:
        """It works: closed."""
        if admission == self._era:
            self._failure_count = 0
            if self._is_trying:
                self._turn(None)

    def failed(self, admission: int) -> None:
        """It does not: open at the limit, or at once when it was the one try."""
        if admission == self._era:
            self._failure_count += 1
            if self._is_trying or self._failure_count >= self._failure_limit:
                self._turn(self._monotonic_s())

    def withdrew(self, admission: int) -> None:
        """It was not found out: somebody else may try."""
        if admission == self._era and self._is_trying:
            self._turn(self._opened_s)

    def _turn(self, opened_s: float | None) -> None:
        self._opened_s, self._is_trying = opened_s, False
        self._era += 1
