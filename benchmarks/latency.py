"""How long one Retrieve takes, seen from another process."""

import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from benchmarks.figure import Figure, percentile
from benchmarks.stage import Stage
from tests.support.rpc import retrieve

WARM_UP_CALL_COUNT = 20
SETTLE_S = 20.0
BUSY_MAX_CALL_COUNT = 200
CALLER_COUNT = 16
CALLERS_REPEAT_COUNT = 3


def idle(stage: Stage) -> list[Figure]:
    """p50 and p99 with nothing else going on, upkeep after the start included."""
    time.sleep(SETTLE_S)
    with stage.server.channel() as channel:
        for number in range(WARM_UP_CALL_COUNT):
            retrieve(channel, f"warm-up {number}", collection="default", k=10)
    # Each question once: a query that the server has met before is not encoded again.
    samples_ms = _timed_calls(stage, lambda done: done < len(stage.questions))
    note = f"{len(samples_ms)} distinct queries"
    return [
        Figure("Retrieve p50, idle", "ms", percentile(samples_ms, 0.5), 8.0, tuple(samples_ms), note),
        Figure("Retrieve p99, idle", "ms", percentile(samples_ms, 0.99), note=note),
    ]


def while_embedding(stage: Stage, is_embedding: Callable[[], bool]) -> list[Figure]:
    """p50 and p99 while the server computes vectors."""
    samples_ms = _timed_calls(stage, lambda done: done < BUSY_MAX_CALL_COUNT and (done % 20 != 0 or is_embedding()))
    note = f"{len(samples_ms)} calls"
    return [
        Figure("Retrieve p50, while embedding", "ms", percentile(samples_ms, 0.5), 25.0, tuple(samples_ms), note),
        Figure("Retrieve p99, while embedding", "ms", percentile(samples_ms, 0.99), note=note),
    ]


def at_once(stage: Stage) -> list[Figure]:
    """How many answers a second 16 callers of one other process get together; every question is worked out anew."""
    asked = stage.questions * CALLERS_REPEAT_COUNT
    with stage.server.channel() as channel, ThreadPoolExecutor(CALLER_COUNT) as callers:

        def ask(query: str) -> None:
            retrieve(channel, query, collection="default", k=10)

        list(callers.map(ask, stage.questions))
        started_s = time.perf_counter()
        list(callers.map(ask, asked))
        elapsed_s = time.perf_counter() - started_s
    note = f"{len(asked)} calls, none of them remembered"
    return [Figure(f"Retrieve, {CALLER_COUNT} callers at once", "/s", len(asked) / elapsed_s, note=note)]


def _timed_calls(stage: Stage, goes_on: Callable[[int], bool]) -> list[float]:
    samples_ms: list[float] = []
    with stage.server.channel() as channel:
        for query in itertools.cycle(stage.questions):
            if not goes_on(len(samples_ms)):
                break
            started_s = time.perf_counter()
            retrieve(channel, query, collection="default", k=10)
            samples_ms.append((time.perf_counter() - started_s) * 1000)
    return samples_ms
