"""Every Redis key of the answer queue. A partition's keys share a hash tag: each script stays in one Cluster slot."""

import zlib
from dataclasses import dataclass

GROUP = "workers"
"""The consumer group; the Lua scripts name it too."""

WORKERS_SEEN = "gw:{workers}:seen"
"""Sorted set: worker id by its last sign of life, in milliseconds by Redis's clock."""
WORKERS_RECORDS = "gw:{workers}:records"
"""Hash: worker id to WorkerRecord."""


@dataclass(frozen=True, slots=True)
class PartitionKeys:
    """The keys of one partition."""

    partition: int

    @property
    def jobs(self) -> str:
        """Stream of tickets, one for each job to do and perhaps more; which job is decided when one is claimed."""
        return f"gw:{{{self.partition}}}:jobs"

    @property
    def waiting(self) -> str:
        """Sorted set: jobs that no worker holds, by deadline in milliseconds."""
        return f"gw:{{{self.partition}}}:waiting"

    @property
    def running(self) -> str:
        """Sorted set: jobs that a worker holds, by deadline in milliseconds."""
        return f"gw:{{{self.partition}}}:running"

    @property
    def dead(self) -> str:
        """Sorted set: jobs that were given up, by when, in milliseconds."""
        return f"gw:{{{self.partition}}}:dead"

    @property
    def tickets(self) -> str:
        """Hash: a ticket that was claimed to its job's id."""
        return f"gw:{{{self.partition}}}:tickets"

    def job(self, job_id: str) -> str:
        """Hash: what is known of a job."""
        return f"gw:{{{self.partition}}}:job:{job_id}"

    def events(self, job_id: str) -> str:
        """Stream of a job's events; the first part of an entry's id is the event's sequence."""
        return f"gw:{{{self.partition}}}:events:{job_id}"

    def of_script(self, job_id: str) -> tuple[str, ...]:
        """Return the KEYS of each script of a job, in the order of `prelude.lua`.

        The scripts derive others of the same slot: `counters`, `turns:<class>` and `line:<class>:<caller>` (who is
        next, see `line.lua`), and `held:<worker>` (see `claim.lua`).
        """
        return (self.job(job_id), self.events(job_id), self.jobs, self.waiting, self.running, self.dead, self.tickets)

    @property
    def of_scripts_that_find_jobs(self) -> tuple[str, ...]:
        """The KEYS of a script that finds its jobs by itself: the first two are the beginnings of their keys."""
        return self.of_script("")


def partition_of(job_id: str, partition_count: int) -> PartitionKeys:
    """Return the partition of a job; the same in every process and version."""
    return PartitionKeys(zlib.crc32(job_id.encode()) % partition_count)
