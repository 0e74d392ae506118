"""Who waits for which job, so that a caller who leaves ends only what nobody else waits for."""

from dataclasses import dataclass


@dataclass(slots=True)
class _Waiting:
    caller_count: int = 0
    cancel_when_alone: bool = False


class Waiters:
    """The callers of this process by job."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}

    def join(self, job_id: str, *, cancel_when_alone: bool) -> None:
        """Count a caller; `cancel_when_alone` asks that the job ends when nobody waits for it any more."""
        waiting = self._waiting.setdefault(job_id, _Waiting())
        waiting.caller_count += 1
        waiting.cancel_when_alone |= cancel_when_alone

    def leave(self, job_id: str) -> bool:
        """Discount a caller; return whether the job should be cancelled if it has not ended."""
        waiting = self._waiting[job_id]
        waiting.caller_count -= 1
        if waiting.caller_count:
            return False
        del self._waiting[job_id]
        return waiting.cancel_when_alone

    def wait_for(self, job_id: str) -> bool:
        """Return whether any caller waits for the job."""
        return job_id in self._waiting
