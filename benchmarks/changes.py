"""How fast single changes of a collection of 6,000 documents are acknowledged: durable, and found by the next query."""

import time

import client as groundwire
from benchmarks.figure import Figure, percentile
from benchmarks.stage import Stage
from tests.support.deadline import wait_until
from tests.support.processes import Server

KEPT_COUNT = 1000
DELETED_COUNT = 5000
PUT_COUNT = 60
_DOCUMENTS_PER_FOLDER = 100


def measure(stage: Stage) -> list[Figure]:
    """Documents put one after the other, then most of the others deleted by one filter, on a server of its own."""
    tree = stage.home / "changes-tree"
    for folder, count in (("kept", KEPT_COUNT), ("deleted", DELETED_COUNT)):
        for number in range(count):
            path = tree / folder / str(number // _DOCUMENTS_PER_FOLDER) / f"{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# Entry {number}\n\nberth {folder} w{number} w{number // 7} sluice\n", encoding="utf-8")
    server = Server(stage.home / "changes", redis_url=stage.valkey.url)
    server.start()
    try:
        with groundwire.Client(server.address) as client:
            client.index(tree)
            wait_until(lambda: client.corpus_stats().dense_coverage == 1.0, timeout_s=300, what="vectors are complete")
            return _changes(client)
    finally:
        server.stop()


def _changes(client: groundwire.Client) -> list[Figure]:
    put_ms = []
    for number in range(PUT_COUNT):
        started_s = time.perf_counter()
        client.put_document(f"notes/{number % 20}.md", f"# Note\n\nIt is {number} by the sluice.\n")
        put_ms.append((time.perf_counter() - started_s) * 1000)
    started_s = time.perf_counter()
    deleted = client.delete_documents_by_filter(groundwire.PassageFilter(include_paths=("**/deleted/**",)))
    deletion_s = time.perf_counter() - started_s
    return [
        Figure(
            f"document put among {KEPT_COUNT + DELETED_COUNT:,}, p95 of {PUT_COUNT}",
            "ms",
            percentile(put_ms, 0.95),
            300.0,
            tuple(put_ms),
        ),
        Figure(f"{deleted.deleted_count:,} documents deleted by a filter", "s", deletion_s, 2.0),
    ]
