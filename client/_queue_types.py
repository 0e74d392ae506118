"""The answer queue as its operators see it."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class QueueStats:
    """Jobs of the answer queue. `slot_count` is how many the live workers can work on at a time, together.

    `accepting_worker_count` is how many of the live ones take jobs at present.
    """

    waiting_count: int
    running_count: int
    dead_letter_count: int
    live_worker_count: int
    slot_count: int
    waiting_batch_count: int
    accepting_worker_count: int


@dataclass(frozen=True, slots=True)
class Worker:
    """One generation worker that showed a sign of life; `version` is empty when it does not say.

    `not_accepting_reason` says why it takes no jobs at present; empty when it does.
    """

    worker_id: str
    model: str
    last_seen_time: datetime | None
    uptime_s: float
    slot_count: int
    running_count: int
    version: str
    context_tokens: int
    not_accepting_reason: str


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A job that was given up: its workers crashed as often as is allowed."""

    request_id: str
    reason: str
    time: datetime | None
    crash_count: int
    worker_id: str
    question: str
    replayable: bool
