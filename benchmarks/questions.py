"""A question set through the client on a warm server, the client's start included."""

import time

from benchmarks.figure import Figure, median_figure
from benchmarks.stage import Stage

REPEAT_COUNT = 5


def measure(stage: Stage) -> list[Figure]:
    """All public questions, several times; the first warms up and does not count."""
    samples_s = []
    for number in range(REPEAT_COUNT + 1):
        started_s = time.perf_counter()
        stage.client("search-dataset", "questions.json", "--k", "10", "--save-directory", f"results/{number}")
        samples_s.append(time.perf_counter() - started_s)
    return [median_figure(f"{len(stage.questions)} questions, client search-dataset", "s", samples_s[1:], 3.0)]
