"""How fast a change of a large collection is acknowledged, and that the very next query sees it."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

import pytest

import client as groundwire
from tests.support.deadline import wait_until
from tests.support.processes import Server, ServiceProcess

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]
NO_REDIS = "redis://127.0.0.1:1/0"
DOCUMENT_COUNT = 5000
UPDATE_COUNT = 60
# Both are far quicker; what is caught is an index that is made anew for each update, or documents deleted one by one.
MAX_DELETE_S = 15.0
MAX_MEDIAN_UPDATE_S = 1.0


def test_updates_and_a_deletion_of_5000_documents_are_quick(
    tmp_path: Path, own_process: Callable[[ServiceProcess], ServiceProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(tmp_path / "server", redis_url=NO_REDIS)
    own_process(server).start()
    for folder in ("kept", "doomed"):
        for number in range(DOCUMENT_COUNT if folder == "doomed" else DOCUMENT_COUNT // 5):
            path = tmp_path / "tree" / folder / str(number % 50) / f"{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# Entry {number}\n\nberth {folder} w{number} w{number // 7} sluice\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with groundwire.Client(server.address) as client:
        client.index("tree")
        wait_until(lambda: client.corpus_stats().dense_coverage == 1.0, timeout_s=300, what="vectors are complete")
        times_s = []
        for number in range(UPDATE_COUNT):
            # Letters alone: digits are words of their own, and common ones.
            word = f"unheard{chr(ord('a') + number // 10)}{chr(ord('a') + number % 10)}"
            started = time.perf_counter()
            written = client.put_document(f"notes/{number % 20}.md", f"# Note\n\nThis one is {word}, by the sluice.\n")
            times_s.append(time.perf_counter() - started)
            found = client.retrieve(word, k=1)
            assert (found.passages[0].path, found.index_generation) == (
                written.document.path,
                written.index_generation,
            )
            assert word in found.passages[0].text
            assert found.dense_coverage == 1.0
        median_s, p95_s = median(times_s), quantiles(times_s, n=20)[-1]
        started = time.perf_counter()
        gone = client.delete_documents_by_filter(groundwire.PassageFilter(include_paths=("tree/doomed/**",)))
        deletion_s = time.perf_counter() - started
        assert gone.deleted_count == DOCUMENT_COUNT
        assert not client.retrieve("doomed", k=10, fusion=groundwire.FusionOverrides(dense_weight=0.0)).passages
    deletion = f"{DOCUMENT_COUNT} deleted in {deletion_s:.2f} s"
    update = f"median {median_s * 1000:.0f} ms, p95 {p95_s * 1000:.0f} ms"
    sys.stdout.write(f"\nupdate acknowledged: {update}; {deletion}\n")
    assert median_s <= MAX_MEDIAN_UPDATE_S
    assert deletion_s <= MAX_DELETE_S
    server.stop()
