"""What is done to the processes of a queue while it works."""

import asyncio
import os
import random
import signal

import redis

from groundwire.queue.keys import PartitionKeys
from tests.support.processes import Worker
from tests.support.valkey import Valkey

KEYS = PartitionKeys(0)


class Havoc:
    """Kills, stops, drains and restarts; counts what it did."""

    def __init__(self, valkey: Valkey, workers: list[Worker], lease_s: float, randomness: random.Random) -> None:
        self.valkey = valkey
        self.workers = workers
        self._random = randomness
        self._lease_s = lease_s
        self.counts = {"killed": 0, "stopped": 0, "drained": 0, "valkey_killed": 0, "flushed": 0}
        self.stopped_while_busy_count = 0

    async def kill_worker(self) -> None:
        """SIGKILL a worker with a job in hand and start it anew."""
        worker = await self._busy_worker()
        await asyncio.to_thread(worker.kill)
        self.counts["killed"] += 1
        await asyncio.to_thread(worker.start)

    async def stop_worker_past_its_lease(self) -> None:
        """SIGSTOP a worker with a job in hand until others have its job, then let it go on."""
        worker = await self._busy_worker()
        held = self.jobs_of(worker)
        os.kill(worker.pid, signal.SIGSTOP)
        self.counts["stopped"] += 1
        self.stopped_while_busy_count += bool(held)
        try:
            await asyncio.sleep(self._lease_s * 2)
        finally:
            os.kill(worker.pid, signal.SIGCONT)

    async def drain_worker(self) -> None:
        """SIGTERM a worker, which must leave nothing undone, and start it anew."""
        worker = await self._busy_worker()
        assert await asyncio.to_thread(worker.stop) == 0
        self.counts["drained"] += 1
        await asyncio.to_thread(worker.start)

    async def kill_valkey(self) -> None:
        """SIGKILL Valkey and start it with its data."""
        await asyncio.to_thread(self.valkey.kill)
        self.counts["valkey_killed"] += 1
        await asyncio.sleep(0.5)
        await asyncio.to_thread(self.valkey.start)

    async def flush(self) -> None:
        """FLUSHALL under everybody's hands."""
        with self.valkey.client() as client:
            await asyncio.to_thread(client.flushall)
        self.counts["flushed"] += 1

    def jobs_of(self, worker: Worker) -> list[bytes]:
        """The jobs that a worker holds."""
        return self._held().get(worker.pid, [])

    def _held(self) -> dict[int, list[bytes]]:
        held: dict[int, list[bytes]] = {}
        try:
            with self.valkey.client() as client:
                for job_id in client.zrange(KEYS.running, 0, -1):
                    worker_id = client.hget(KEYS.job(job_id.decode()), "worker")
                    if worker_id:  # HOST-PID-RANDOM
                        held.setdefault(int(worker_id.rsplit(b"-", 2)[1]), []).append(job_id)
        except redis.RedisError:
            return {}
        return held

    async def _busy_worker(self) -> Worker:
        """A worker with a job in hand, chosen at random, or any when none has one for a while."""
        for _ in range(100):
            held = await asyncio.to_thread(self._held)
            busy = [worker for worker in self.workers if held.get(worker.pid)]
            if busy:
                return self._random.choice(busy)
            await asyncio.sleep(0.05)
        return self.workers[0]
