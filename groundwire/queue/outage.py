"""Saying that Redis cannot be used: when that begins, for each new reason, now and then meanwhile, and when it ends."""

import time
from dataclasses import dataclass, field

import structlog
from redis.exceptions import RedisError

log = structlog.get_logger()

REMINDER_INTERVAL_S = 600.0
QUIET_S = 30.0
"""What comes after so long without a failure is another outage."""
MOST_PROBLEMS = 16
"""So many different ones are told within the interval: their words may hold what differs each time."""


@dataclass(slots=True)
class Outage:
    """What one part of a process has said of it. Who asks again every second would fill a disk otherwise.

    That holds too for a queue that fails every second time: a success alone does not make what was said news again.
    """

    _said_s: dict[str, float] = field(default_factory=dict)
    _failed_s: float = 0.0
    _failure_count: int = 0
    _is_told: bool = False

    def goes_on(self, error: RedisError) -> None:
        """Note a failure."""
        self._failure_count += 1
        now_s = time.monotonic()
        if now_s - self._failed_s > QUIET_S:
            self._said_s.clear()
        self._failed_s = now_s
        self._said_s = {one: said_s for one, said_s in self._said_s.items() if now_s - said_s < REMINDER_INTERVAL_S}
        problem = str(error)
        if problem not in self._said_s and len(self._said_s) < MOST_PROBLEMS:
            self._said_s[problem] = now_s
            self._is_told = True
            log.warning("queue cannot be used", error=problem, failure_count=self._failure_count)

    def is_over(self) -> None:
        """Note a success."""
        if self._is_told:
            log.info("queue can be used again", failure_count=self._failure_count)
            self._is_told = False
            self._failure_count = 0
