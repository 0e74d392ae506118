"""Saying that Redis cannot be used: when that begins, for each new reason, now and then meanwhile, and when it ends."""

import time
from dataclasses import dataclass, field

import structlog
from redis.exceptions import RedisError

log = structlog.get_logger()

REMINDER_INTERVAL_S = 600.0


@dataclass(slots=True)
class Outage:
    """What one loop of a process has said of it. Who asks again every second would fill a disk otherwise."""

    _problems: set[str] = field(default_factory=set)
    _said_s: float = 0.0
    _failure_count: int = 0

    def goes_on(self, error: RedisError) -> None:
        """Note a failure."""
        self._failure_count += 1
        now_s = time.monotonic()
        problem = str(error)
        if problem not in self._problems or now_s - self._said_s >= REMINDER_INTERVAL_S:
            self._problems.add(problem)
            self._said_s = now_s
            log.warning("queue cannot be used", error=problem, failure_count=self._failure_count)

    def is_over(self) -> None:
        """Note a success."""
        if self._failure_count:
            log.info("queue can be used again", failure_count=self._failure_count)
            self._problems.clear()
            self._failure_count = 0
