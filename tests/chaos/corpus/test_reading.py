"""Reading while something changes: every response is of exactly one generation, and none fails."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import client as groundwire
from tests.support.client import run_client
from tests.support.deadline import wait_until
from tests.support.processes import Server, ServiceProcess

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]
NO_REDIS = "redis://127.0.0.1:1/0"
READER_COUNT = 8
FILE_COUNT = 12
WRITING_S = 60.0
Own = Callable[[ServiceProcess], ServiceProcess]


class Readers:
    """Threads that ask until they are told to stop; what they found wrong is kept."""

    def __init__(self, server: str, check: Callable[[groundwire.Client], None]) -> None:
        self.response_count = 0
        self.problems: list[BaseException] = []
        self._server = server
        self._check = check
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._read) for _ in range(READER_COUNT)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        with groundwire.Client(self._server) as client:
            while not self._stopping.is_set():
                try:
                    self._check(client)
                except BaseException as problem:
                    self.problems.append(problem)
                self.response_count += 1

    def stop(self) -> None:
        """End them; raise the first thing that was wrong."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        if self.problems:
            raise self.problems[0]


def write_version(tree: Path, version: int) -> None:
    """Give all files the same version number, and texts that are not near duplicates of each other."""
    for number in range(FILE_COUNT):
        own_words = " ".join(f"w{number}x{i}" for i in range(20))
        (tree / f"{number}.md").write_text(f"everywhere v{version:05d} {own_words}\n", encoding="utf-8")


def versions_in(result: groundwire.RetrieveResult) -> set[str]:
    return {passage.text.split()[1] for passage in result.passages}


def test_eight_readers_see_one_generation_each_time_while_every_commit_changes_all_documents(
    tmp_path: Path, own_process: Own
) -> None:
    server = Server(tmp_path / "server", redis_url=NO_REDIS)
    own_process(server).start()
    tree = tmp_path / "tree"
    tree.mkdir()
    version_of_generation: dict[int, str] = {}
    unknown: list[tuple[int, str]] = []

    def check(client: groundwire.Client) -> None:
        result = client.retrieve("everywhere", k=100)
        (version,) = versions_in(result)
        assert len(result.passages) == FILE_COUNT
        known = version_of_generation.get(result.index_generation)
        if known is None:  # the commit is visible before its caller has been told
            unknown.append((result.index_generation, version))
        else:
            assert version == known
        path = result.passages[0].path
        assert client.get_document(path).text.startswith("everywhere v")

    with groundwire.Client(server.address) as client:
        write_version(tree, 0)
        version_of_generation[client.index(str(tree), prune=True).index_generation] = "v00000"
        readers = Readers(server.address, check)
        try:
            deadline = time.monotonic() + WRITING_S
            version = 0
            while time.monotonic() < deadline and not readers.problems:
                version += 1
                write_version(tree, version)
                version_of_generation[client.index(str(tree), prune=True).index_generation] = f"v{version:05d}"
        finally:
            readers.stop()
    assert all(version_of_generation[generation] == seen for generation, seen in unknown)
    assert version > 5
    assert readers.response_count > 100
    assert server.stop() == 0


def test_a_replica_swaps_to_newer_snapshots_without_a_failed_request(tmp_path: Path, own_process: Own) -> None:
    primary = Server(tmp_path / "primary", redis_url=NO_REDIS)
    own_process(primary).start()
    snapshots = primary.data_dir / "snapshots"
    replica = Server(
        tmp_path / "replica",
        redis_url=NO_REDIS,
        GROUNDWIRE_FOLLOW_DIR=os.fspath(snapshots),
        GROUNDWIRE_FOLLOW_INTERVAL_S="0.1",
    )
    tree = tmp_path / "tree"
    tree.mkdir()
    seen: list[tuple[int, str]] = []

    def check(client: groundwire.Client) -> None:
        result = client.retrieve("everywhere", k=100)
        (version,) = versions_in(result)
        assert len(result.passages) == FILE_COUNT
        seen.append((result.index_generation, version))

    version_of_generation: dict[int, str] = {}
    with groundwire.Client(primary.address) as client:

        def publish(version: int) -> int:
            write_version(tree, version)
            generation = client.index(str(tree), prune=True).index_generation
            wait_until(lambda: client.corpus_stats().dense_coverage == 1.0, timeout_s=100, what="vectors")
            version_of_generation[generation] = f"v{version:05d}"
            assert client.create_snapshot().index_generation == generation
            return generation

        publish(0)
        own_process(replica).start()
        readers = Readers(replica.address, check)
        try:
            with groundwire.Client(replica.address) as follower:
                for version in range(1, 9):
                    generation = publish(version)
                    wait_until(
                        lambda wanted=generation: (
                            follower.retrieve("everywhere").index_generation == wanted or readers.problems
                        ),
                        timeout_s=100,
                        what="the replica serves the newest snapshot",
                    )
                with pytest.raises(groundwire.FailedPrecondition) as caught:
                    follower.put_document("new.md", "text")
                assert caught.value.reason == "READ_ONLY"
        finally:
            readers.stop()
    assert {version_of_generation[generation] == version for generation, version in seen} == {True}
    assert len({generation for generation, _ in seen}) > 3
    replica.kill()
    replica.start()
    found = run_client(replica.address, "search", "everywhere", "--json", cwd=tmp_path).assert_ok().json
    assert found["index_generation"] == max(version_of_generation)
    assert replica.stop() == 0
    assert primary.stop() == 0
