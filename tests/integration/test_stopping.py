"""A server that is told to stop does so soon, whatever it is busy with, and goes on from there when it starts again."""

from collections.abc import Callable
from pathlib import Path

from tests.support.client import run_client
from tests.support.processes import Server, ServiceProcess
from tests.support.rpc import corpus_stats, wait_for_vectors

Own = Callable[[ServiceProcess], ServiceProcess]
FILE_COUNT = 350


def test_sigterm_while_vectors_are_computed_loses_none_and_ends_the_process(tmp_path: Path, own_process: Own) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(FILE_COUNT):
        words = " ".join(f"word{number}x{i} meaning{i}" for i in range(40))
        (tree / f"f{number}.md").write_text(f"# Title {number}\n\n{words}\n", encoding="utf-8")
    server = Server(tmp_path / "server", redis_url="redis://127.0.0.1:1/0", GROUNDWIRE_ENCODER_THREADS="1")
    own_process(server).start()
    run_client(server.address, "index", str(tree), cwd=tmp_path).assert_ok()
    with server.channel() as channel:
        before = corpus_stats(channel, "default").stats
    assert before.embedded_chunk_count < before.embeddable_chunk_count
    assert server.stop() == 0
    server.start()
    with server.channel() as channel:
        after = corpus_stats(channel, "default").stats
        assert after.chunk_count == before.chunk_count
        assert after.embedded_chunk_count >= before.embedded_chunk_count
        wait_for_vectors(channel, "default")
