"""What a collection costs at 10,000, 100,000 and 1,000,000 chunks: `python -m benchmarks.scale [COUNT …]`.

Texts and vectors are synthetic, all else is real: parsing, SQLite, Tantivy, segments, graph, server. The largest takes
about a quarter of an hour on two idle cores, and 8 GB of disk.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import grpc

from benchmarks.figure import percentile
from benchmarks.synthetic_corpus import SyntheticCorpus
from groundwire.models.locate import encoder_files
from tests.support.processes import Server
from tests.support.rpc import retrieve
from tests.support.valkey import Valkey

SIZES = (10_000, 100_000, 1_000_000)
QUERY_COUNT = 300
WARM_UP_COUNT = 100
SETTLED_TIMEOUT_S = 120.0
# Figure, what it is, unit, and the bound at 1,000,000 chunks. CPU is what counts where other work shares the cores.
ROWS = (
    ("index_s", "parse, store, index by words", "s", ""),
    ("index_cpu_s", "… CPU", "s", ""),
    ("vectors_s", "make and store vectors, write the segment", "s", ""),
    ("vectors_cpu_s", "… CPU", "s", ""),
    ("graph_s", "build the graph, in the background", "s", ""),
    ("graph_cpu_s", "… CPU", "s", ""),
    ("build_rss_mb", "memory while building, peak", "MB", "≤ 4096"),
    ("graph_rss_mb", "… of the process that builds the graph", "MB", "≤ 4096"),
    ("disk_mb", "on disk", "MB", ""),
    ("open_s", "open", "s", "≤ 2"),
    ("open_cpu_s", "… CPU", "s", ""),
    ("check_s", "checksums after opening, in the background", "s", ""),
    ("search_rss_mb", "memory while searching, mapped files included", "MB", ""),
    ("dense_p50_ms", "dense list of 60, p50", "ms", ""),
    ("dense_p50_cpu_ms", "… CPU", "ms", ""),
    ("dense_p99_ms", "… p99", "ms", ""),
    ("dense_recall", "… Recall@10 against float32", "", "≥ 0.97"),
    ("exact_p50_ms", "the same without the graph, p50", "ms", ""),
    ("exact_p50_cpu_ms", "… CPU", "ms", ""),
    ("exact_recall", "… Recall@10 against float32", "", ""),
    ("many_p50_cpu_ms", "dense, a filter leaves 30 %, p50 CPU", "ms", ""),
    ("many_recall", "… Recall@10 against exact", "", ""),
    ("few_p50_cpu_ms", "dense, a filter leaves 0.5 %, p50 CPU", "ms", ""),
    ("update_ms", "change one document of 5 chunks, p50", "ms", ""),
    ("update_cpu_ms", "… CPU", "ms", ""),
    ("start_s", "server ready", "s", ""),
    ("retrieve_p50_ms", "Retrieve over gRPC, p50", "ms", "≤ 12"),
    ("retrieve_p99_ms", "… p99", "ms", ""),
    ("retrieve_cpu_ms", "… CPU of the server, mean", "ms", ""),
)


def main(sizes: list[int]) -> None:
    """Measure each size and print one table."""
    columns = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="groundwire-scale-") as home:
            columns.append(measure(Path(home), size))
    print(table(sizes, columns))


def measure(home: Path, chunk_count: int) -> dict[str, float]:
    """All figures of one size."""
    valkey = Valkey(home / "valkey")
    server = Server(home / "server", redis_url=valkey.url)
    directory = server.data_dir / "collections" / "default"
    directory.parent.mkdir(parents=True)
    # The server's own encoder, so that it takes the vectors for those that it would have made.
    fingerprint = encoder_files(None).fingerprint
    figures: dict[str, float] = {}
    for step in ("build", "search"):
        sys.stderr.write(f"{chunk_count:,} chunks: {step}\n")
        command = [sys.executable, "-m", "benchmarks.scale_steps", step, str(directory), fingerprint, str(chunk_count)]
        shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        figures |= json.loads(shown.splitlines()[-1])
        sys.stderr.write(f"{json.dumps({name: round(value, 3) for name, value in figures.items()})}\n")
    valkey.start()
    started_s = time.perf_counter()
    server.start()
    figures["start_s"] = time.perf_counter() - started_s
    try:
        if (directory / "dense" / "segments.json").exists():
            server.wait_for_event("vector segments bettered", timeout_s=SETTLED_TIMEOUT_S)
        with server.channel() as channel:
            _retrieved_ms(channel, SyntheticCorpus(chunk_count, seed=3).queries(WARM_UP_COUNT))
            before_s = _cpu_s(server.pid)
            samples_ms = _retrieved_ms(channel, SyntheticCorpus(chunk_count, seed=2).queries(QUERY_COUNT))
            figures["retrieve_cpu_ms"] = (_cpu_s(server.pid) - before_s) / QUERY_COUNT * 1000
    finally:
        server.stop()
        valkey.stop()
    return figures | {"retrieve_p50_ms": percentile(samples_ms, 0.5), "retrieve_p99_ms": percentile(samples_ms, 0.99)}


def table(sizes: list[int], columns: list[dict[str, float]]) -> str:
    """Return one row a figure, one column a size."""
    lines = [f"{'':48} {'':4}" + "".join(f"{size:>13,}" for size in sizes) + f"  {'bound':>8}"]
    for name, title, unit, bound in ROWS:
        values = "".join(f"{figures[name]:13.3f}" if name in figures else f"{'':13}" for figures in columns)
        lines.append(f"{title:48} {unit:4}{values}  {bound or '':>8}")
    return "\n".join(lines)


def _cpu_s(pid: int) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _retrieved_ms(channel: grpc.Channel, queries: list[str]) -> list[float]:
    samples_ms = []
    for query in queries:
        started_s = time.perf_counter()
        retrieve(channel, query, collection="default", k=10)
        samples_ms.append((time.perf_counter() - started_s) * 1000)
    return samples_ms


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or list(SIZES))
