"""When a failed request is worth another try, and how long to wait before it."""

import email.utils
import time
from dataclasses import dataclass, field

from groundwire.queue.connection import Backoff

MAX_TRIES = 3
MAX_WAIT_S = 10.0
"""Who asks for more than this is left alone: another backend, or the fallback, is there sooner."""


@dataclass(slots=True)
class Tries:
    """The tries of one request."""

    max_tries: int = MAX_TRIES
    max_wait_s: float = MAX_WAIT_S
    _backoff: Backoff = field(default_factory=lambda: Backoff(first_s=0.5, most_s=4.0))

    def wait_s(self, asked_wait_s: float | None) -> float | None:
        """Count a failure; return how long to wait before the next try, None when there is to be none."""
        delay_s = self._backoff.next_s()
        if self._backoff.failures >= self.max_tries or (asked_wait_s or 0.0) > self.max_wait_s:
            return None
        return max(delay_s, asked_wait_s or 0.0)


def retry_after_s(value: str | None, *, now_s: float | None = None) -> float | None:
    """Return the seconds that a Retry-After header (RFC 9110, 10.2.3) asks for; None when there is none or no sense.

    `now_s` is the time by the clock of whoever asks, in Unix seconds; by default this one's.
    """
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    moment_s = unix_s(value)
    return None if moment_s is None else max(0.0, moment_s - (time.time() if now_s is None else now_s))


def unix_s(date: str | None) -> float | None:
    """Return the moment of an HTTP date; None when there is none or no sense."""
    try:
        return None if date is None else email.utils.parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None
