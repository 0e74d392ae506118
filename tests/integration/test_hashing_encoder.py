"""A server without any model file: the hashing encoder."""

from collections.abc import Callable
from pathlib import Path

from tests.support.client import run_client
from tests.support.processes import PROJECT_DIR, Server, ServiceProcess
from tests.support.rpc import corpus_stats, retrieve, wait_for_vectors

NO_REDIS = "redis://127.0.0.1:1/0"


def test_it_serves_hybrid_search_without_models(
    tmp_path: Path, own_process: Callable[[ServiceProcess], ServiceProcess]
):
    (tmp_path / "none").mkdir()
    server = Server(
        tmp_path,
        redis_url=NO_REDIS,
        GROUNDWIRE_ENCODER="hashing",
        GROUNDWIRE_MODELS_DIR=str(tmp_path / "none"),
    )
    own_process(server).start()
    run_client(server.address, "index", PROJECT_DIR / "examples" / "harbour", cwd=tmp_path).assert_ok()
    with server.channel() as channel:
        wait_for_vectors(channel, "default")
        assert corpus_stats(channel, "default").stats.encoder.startswith("hashing")
        found = retrieve(channel, "How long may a visiting boat stay at the guest pontoon?", collection="default", k=3)
    assert found.passages[0].path.endswith("berths.md")
    dense = [score for score in found.passages[0].list_scores if score.list == "dense"]
    assert dense
    assert dense[0].rank == 1
