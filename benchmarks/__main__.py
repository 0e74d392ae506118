"""Run every measurement: one table on standard output, one JSON under benchmarks/results/."""

import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from dataclasses import asdict
from pathlib import Path

import platformdirs

from benchmarks import answers, changes, encoding, generation, indexing, latency, questions, server_process, workers
from benchmarks.figure import Figure
from benchmarks.stage import CannotMeasureError, Stage, make_stage
from groundwire.cpu import usable_core_count

RESULTS_DIR = Path(__file__).resolve().parent / "results"
# In this order: what is measured later stands on the index that was made first.
MEASUREMENTS: tuple[tuple[str, Callable[[Stage], list[Figure]]], ...] = (
    ("encoding", encoding.measure),
    ("indexing", indexing.measure),
    ("questions", questions.measure),
    ("memory", server_process.measure_memory),
    ("server start", server_process.measure_start),
    ("latency", latency.idle),
    ("throughput", latency.at_once),
    ("changes", changes.measure),
    ("answers", answers.measure),
    ("generation", generation.measure),
    ("workers", workers.measure),
)
_WITHOUT_INDEX = frozenset(("encoding", "changes", "generation", "workers"))


def main() -> int:
    """Measure and report; 1 when nothing could be measured. A bound that is not kept is shown and is no failure.

    Names of measurements as arguments leave the others out, except for those that they need.
    """
    known = [name for name, _ in MEASUREMENTS]
    wanted = sys.argv[1:] or known
    if unknown := set(wanted) - set(known):
        sys.stderr.write(f"make bench: no measurement is called {', '.join(sorted(unknown))}; there are {known}\n")
        return 1
    configured = os.environ.get("GROUNDWIRE_CORPORA_DIR")
    corpora_dir = Path(configured) if configured else platformdirs.user_cache_path("groundwire") / "corpora"
    with tempfile.TemporaryDirectory(prefix="groundwire-bench-") as home:
        try:
            figures = measure_all(make_stage(Path(home), corpora_dir), wanted)
        except CannotMeasureError as problem:
            sys.stderr.write(f"make bench: {problem}\n")
            return 1
    print(table(figures))
    print(f"\nwritten to {write_results(figures)}")
    return 0


def measure_all(stage: Stage, wanted: Collection[str]) -> list[Figure]:
    """Every figure that is wanted, from a server that starts empty."""
    figures: list[Figure] = []
    stage.valkey.start()
    stage.server.start()
    try:
        for name, measure in MEASUREMENTS:
            if name not in wanted and not (name == "indexing" and set(wanted) - _WITHOUT_INDEX):
                continue
            sys.stderr.write(f"measuring: {name}\n")
            figures += measure(stage)
    finally:
        if stage.server.is_alive():
            stage.server.stop()
        stage.valkey.stop()
    return figures


def table(figures: list[Figure]) -> str:
    """All figures for people."""
    rows = [f"{usable_core_count()} cores, {platform.machine()}, Python {platform.python_version()}", ""]
    rows.append(f"{'figure':45} {'value':>10}  {'bound':>10}")
    for figure in figures:
        bound = "" if figure.at_most is None else f"≤ {figure.at_most:g}"
        mark = "" if figure.is_within else "  OVER"
        note = f"  ({figure.note})" if figure.note else ""
        rows.append(f"{figure.name:45} {figure.value:10.2f}  {bound:>10}  {figure.unit}{mark}{note}")
    return "\n".join(rows)


def write_results(figures: list[Figure]) -> Path:
    """All figures with their samples for programs; the file's path."""
    RESULTS_DIR.mkdir(exist_ok=True)
    path = RESULTS_DIR / f"{time.strftime('%Y%m%dT%H%M%S')}-{usable_core_count()}-cores.json"
    report = {
        "core_count": usable_core_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "figures": [asdict(figure) | {"is_within": figure.is_within} for figure in figures],
    }
    path.write_text(json.dumps(report, indent=2), encoding="utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
