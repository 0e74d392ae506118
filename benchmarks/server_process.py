"""The server as a process: how soon it is ready on an existing index, and what it holds in memory."""

import time

from benchmarks.figure import Figure, median_figure
from benchmarks.memory import resident_mb
from benchmarks.stage import Stage

REPEAT_COUNT = 5


def measure_memory(stage: Stage) -> list[Figure]:
    """Resident memory after all that was asked of it so far."""
    return [
        Figure("server RSS", "MB", resident_mb(stage.server.pid), 800.0),
        Figure(
            "server RSS, peak", "MB", resident_mb(stage.server.pid, "VmHWM"), note="since its start, indexing included"
        ),
    ]


def measure_start(stage: Stage) -> list[Figure]:
    """From starting the process until its log says that it serves."""
    samples_s = []
    for _ in range(REPEAT_COUNT):
        stage.server.stop()
        started_s = time.perf_counter()
        stage.server.start()
        samples_s.append(time.perf_counter() - started_s)
    return [median_figure("server ready on an existing index", "s", samples_s, 2.0)]
