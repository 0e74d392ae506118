"""A server that is told to stop does so soon, whatever it is busy with, and goes on from there when it starts again."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import client as groundwire
from tests.support.client import run_client
from tests.support.deadline import wait_until
from tests.support.processes import Server, ServiceProcess
from tests.support.rpc import corpus_stats, wait_for_vectors

Own = Callable[[ServiceProcess], ServiceProcess]
FILE_COUNT = 150


class MuteServer(Server):
    """A server that cannot write its log."""

    @property
    def command(self) -> list[str]:
        """What is run."""
        return ["sh", "-c", 'exec "$@" 2>/dev/full', "sh", *super().command]


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


def test_sigterm_while_collections_are_opened_ends_the_process_at_once_and_leaves_all(
    tmp_path: Path, own_process: Own
) -> None:
    server = Server(tmp_path / "server", redis_url="redis://127.0.0.1:1/0", GROUNDWIRE_ENCODER="hashing")
    own_process(server).start()
    names = ("a", "b", "c")
    with groundwire.Client(server.address) as library:
        for name in names:
            library.put_document("sluice.md", f"the sluice of berth {name}", collection=name)
    assert server.stop() == 0
    # Reading from a pipe lasts until somebody has written to it: b is being opened for as long as this test likes.
    read_at_open = server.data_dir / "collections" / "b" / "lexical.json"
    content = read_at_open.read_bytes()
    read_at_open.unlink()
    os.mkfifo(read_at_open)

    def is_read() -> int | None:
        with suppress(OSError):
            return os.open(read_at_open, os.O_WRONLY | os.O_NONBLOCK)
        return None

    mute = MuteServer(tmp_path / "server", redis_url="redis://127.0.0.1:1/0", GROUNDWIRE_ENCODER="hashing")
    own_process(mute)
    for told in (mute, server):
        told.launch()
        pipe = wait_until(is_read, timeout_s=60, what="the server opens collection b")
        try:
            assert told.stop(timeout_s=30) == 0
        finally:
            os.close(pipe)  # type: ignore[arg-type]
    assert [event["was_ready"] for event in server.events("server stopped")] == [False]
    assert "Traceback" not in server.log_text()
    read_at_open.unlink()
    read_at_open.write_bytes(content)
    server.start()
    with groundwire.Client(server.address) as library:
        for name in names:
            [passage] = library.retrieve("sluice", collection=name).passages
            assert passage.text == f"the sluice of berth {name}"
    assert server.stop() == 0
