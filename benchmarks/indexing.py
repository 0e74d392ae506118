"""A whole tree: until words are searchable, until vectors are complete, and again with little or nothing changed."""

import os
import time

from benchmarks import latency
from benchmarks.figure import Figure, median_figure
from benchmarks.memory import PeakMemory
from benchmarks.stage import TREE, Stage
from tests.support.process_tree import child_pids
from tests.support.rpc import corpus_stats, wait_for_vectors

REPEAT_COUNT = 3
EDITED_FILE = "vllm/config/__init__.py"


def measure(stage: Stage) -> list[Figure]:
    """Index from nothing (the client's process included), then twice more in small."""

    def pids() -> list[int]:
        # The server with its parsing processes, and the client.
        apart = {stage.valkey.pid}
        return [pid for pid in child_pids(os.getpid()) if pid not in apart]

    started_s = time.perf_counter()
    with PeakMemory(pids) as memory, stage.server.channel() as channel:
        stage.client("index", TREE)
        searchable_s = time.perf_counter() - started_s
        chunk_count = corpus_stats(channel, "default").stats.chunk_count
        during = latency.while_embedding(stage, lambda: corpus_stats(channel, "default").stats.dense_coverage < 1)
        while corpus_stats(channel, "default").stats.dense_coverage < 1:
            time.sleep(0.1)
        hybrid_s = time.perf_counter() - started_s
    return [
        Figure("whole tree, searchable by words", "s", searchable_s, 6.0, note=f"{chunk_count:,} chunks"),
        Figure("whole tree, hybrid complete", "s", hybrid_s, 90.0),
        Figure(
            "memory while indexing, peak", "MB", memory.peak_mb, 1200.0, note="server, its parsing processes and client"
        ),
        *during,
        median_figure("re-index, nothing changed", "s", [_timed_index(stage) for _ in range(REPEAT_COUNT)], 3.0),
        median_figure("re-index, one file changed", "s", _one_changed(stage), 2.0),
    ]


def _one_changed(stage: Stage) -> list[float]:
    path = stage.home / TREE / EDITED_FILE
    original = path.read_bytes()
    samples_s = []
    for number in range(REPEAT_COUNT):
        path.write_bytes(
            original + f"\n\ndef added_by_the_benchmark_{number}() -> int:\n    return {number}\n".encode()
        )
        samples_s.append(_timed_index(stage))
    path.write_bytes(original)
    stage.client("index", TREE)
    with stage.server.channel() as channel:
        wait_for_vectors(channel, "default")
    return samples_s


def _timed_index(stage: Stage) -> float:
    started_s = time.perf_counter()
    stage.client("index", TREE)
    return time.perf_counter() - started_s
