"""Ending a job: the one way for the server and the workers alike."""

import secrets
from dataclasses import dataclass
from enum import Enum

from redis.asyncio import Redis

from groundwire.internal.v1 import job_pb2
from groundwire.queue import scripts
from groundwire.queue.keys import PartitionKeys
from groundwire.v1 import answer_pb2, error_pb2

DEAD_LETTER_TTL_S = 7 * 24 * 3600
WHATEVER_NONCE = ""
"""Ends the job whoever holds it."""


class EndResult(Enum):
    """What became of the wish to end a job."""

    ENDED = "ended"
    ALREADY = "already"
    STALE = "stale"
    MISSING = "missing"
    BEHIND = "behind"
    """Not all that its worker has written is there; it has not ended."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ends. Its text is what the last attempt's deltas say, joined by the script."""

    outcome: job_pb2.JobOutcome.ValueType
    reason: error_pb2.ErrorReason.ValueType = error_pb2.ERROR_REASON_UNSPECIFIED
    message: str = ""
    generator: answer_pb2.GeneratorInfo | None = None
    attempt: int = 0
    ignores_answer_start: bool = False
    generator_identity: str = ""

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may be enqueued anew rather than be told this end again."""
        if self.outcome == job_pb2.JOB_OUTCOME_FAILED:
            return self.reason != error_pb2.ERROR_REASON_GENERATION_FAILED
        return self.outcome != job_pb2.JOB_OUTCOME_FINISHED

    def event(self) -> job_pb2.JobEvent:
        """Return the terminal event, without its text."""
        return job_pb2.JobEvent(
            attempt=self.attempt,
            ended=job_pb2.JobEnded(
                outcome=self.outcome,
                reason=self.reason,
                message=self.message,
                generator=self.generator,
                ignores_answer_start=self.ignores_answer_start,
                generator_identity=self.generator_identity,
            ),
        )


CANCELLED = Ending(
    job_pb2.JOB_OUTCOME_CANCELLED, error_pb2.ERROR_REASON_JOB_CANCELLED, "The job was cancelled by a caller."
)
EXPIRED = Ending(
    job_pb2.JOB_OUTCOME_EXPIRED,
    error_pb2.ERROR_REASON_DEADLINE_EXCEEDED,
    "The deadline passed before the answer was complete.",
)

NO_WORKER_LEFT = Ending(
    job_pb2.JOB_OUTCOME_FAILED, error_pb2.ERROR_REASON_NO_WORKER, "No generation worker is alive any more."
)


def dead_letter(crash_count: int) -> Ending:
    """Return the end of a job whose workers crashed as often as is allowed."""
    return Ending(
        job_pb2.JOB_OUTCOME_DEAD_LETTER,
        error_pb2.ERROR_REASON_JOB_DEAD_LETTERED,
        f"The job was given up after {crash_count} workers were lost while they worked on it.",
    )


class EndAttempt:
    """A wish to end a job; `send` may be repeated when its reply was lost, and says ENDED again if it did it."""

    def __init__(
        self,
        keys: PartitionKeys,
        job_id: str,
        ending: Ending,
        *,
        expected_nonce: str | bytes,
        written_sequence: int = 0,
    ) -> None:
        """`written_sequence`: of the last event that the worker has written, if it is its worker that ends it."""
        self._keys = keys
        self._job_id = job_id
        self._ending = ending
        self._expected_nonce = expected_nonce
        self._written_sequence = written_sequence
        self._token = secrets.token_hex(8)

    async def send(self, redis: Redis) -> EndResult:
        """Compare and set."""
        result: bytes = await scripts.END.run(
            redis,
            self._keys.of_script(self._job_id),
            self._expected_nonce,
            self._token,
            self._ending.event().SerializeToString(),
            job_pb2.JobOutcome.Name(self._ending.outcome).removeprefix("JOB_OUTCOME_"),
            int(self._ending.is_retryable),
            DEAD_LETTER_TTL_S * 1000,
            self._written_sequence,
        )
        return EndResult(result.decode())
