"""What Redis holds of a job after its end, and of all jobs after all ends."""

import asyncio
import time

import redis

from groundwire.queue.events import decode_event
from groundwire.queue.keys import GROUP, PartitionKeys
from retrieval_server.generation.jobs.answer_jobs import answer_job_id
from tests.support.deadline import POLL_S
from tests.support.valkey import Valkey

KEYS = PartitionKeys(0)
END_TIMEOUT_S = 60.0
LASTING_KEYS = {KEYS.jobs.encode(), b"gw:{0}:counters", b"gw:{workers}:seen", b"gw:{workers}:records"}


async def check_one_end(valkey: Valkey, request_id: str) -> None:
    """Fail unless the job's events hold one end, the last, and no attempt wrote after the next one had begun."""
    deadline_s = time.monotonic() + END_TIMEOUT_S
    while True:
        entries = await asyncio.to_thread(_entries, valkey, answer_job_id(request_id))
        if not entries:
            return  # flushed, or its time is over
        events = [decode_event(entry_id, fields).event for entry_id, fields in entries]
        kinds = [event.WhichOneof("event") for event in events]
        # Whose time was over while Valkey was away was told so before that could be written.
        if "ended" in kinds or time.monotonic() > deadline_s:
            break
        await asyncio.sleep(POLL_S)
    assert kinds.count("ended") == 1, (request_id, kinds)
    assert kinds[-1] == "ended", (request_id, kinds)
    attempts = [event.attempt for event in events if event.WhichOneof("event") in {"started", "delta"}]
    assert attempts == sorted(attempts), (request_id, attempts)
    started = [event.attempt for event in events if event.WhichOneof("event") == "started"]
    assert len(started) == len(set(started)), (request_id, started)
    final = "".join(
        event.delta.text for event in events if event.WhichOneof("event") == "delta" and event.attempt == attempts[-1]
    )
    assert events[-1].ended.text in {final, ""}, request_id


def _entries(valkey: Valkey, job_id: str) -> list[tuple[bytes, dict[bytes, bytes]]]:
    for _ in range(5000):
        try:
            with valkey.client() as client:
                return client.xrange(KEYS.events(job_id))
        except redis.RedisError:
            time.sleep(POLL_S)
    raise AssertionError("Valkey did not come back")


def unfinished(valkey: Valkey) -> dict[str, int]:
    """What should be nothing once every job has ended."""
    with valkey.client() as client:
        groups = client.xinfo_groups(KEYS.jobs) if client.exists(KEYS.jobs) else []
        return {
            "waiting": client.zcard(KEYS.waiting),
            "running": client.zcard(KEYS.running),
            "tickets": client.hlen(KEYS.tickets),
            "stream": client.xlen(KEYS.jobs),
            "pending": sum(group["pending"] for group in groups if group["name"] == GROUP.encode()),
            "lines": len(list(client.scan_iter("gw:{0}:line:*"))) + len(list(client.scan_iter("gw:{0}:turns:*"))),
            "held": len(list(client.scan_iter("gw:{0}:held:*"))),
        }


def leaked_keys(valkey: Valkey) -> dict[bytes, int]:
    """Keys that are neither lasting nor going to expire, with their time to live in milliseconds."""
    with valkey.client() as client:
        left = {key: client.pttl(key) for key in client.scan_iter("*") if key not in LASTING_KEYS}
    return {key: ttl_ms for key, ttl_ms in left.items() if ttl_ms < 0}


def remaining_keys(valkey: Valkey) -> set[bytes]:
    """Keys that are not lasting."""
    with valkey.client() as client:
        return set(client.scan_iter("*")) - LASTING_KEYS
