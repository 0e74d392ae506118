"""Trees that are indexed once for all quality tests."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.client import run_client
from tests.support.processes import Server
from tests.support.trees import TREES, fetched

VLLM = "vllm"
VLLM_TREE = "data/raw/vllm-0.10.1"
INDEX_TIMEOUT_S = 1800.0

ServerOf = Callable[[str], Server]


class TreeServers:
    """A server for each tree, of which one runs at a time; a tree is indexed when it is first asked for."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._indexed: dict[str, Server] = {}

    def running(self, name: str, root: Path, folder: str) -> Server:
        """Return the server that holds `folder` as seen from `root`, all vectors computed. It needs no queue."""
        server = self._indexed.get(name)
        if server is not None and server.is_alive():
            return server
        self.stop()
        if server is not None:
            server.start()
            return server
        server = Server(self._directory / name, redis_url="redis://127.0.0.1:1/0")
        server.start()
        try:
            run_client(server.address, "index", folder, "--wait", cwd=root, timeout_s=INDEX_TIMEOUT_S).assert_ok()
        except BaseException:
            server.stop()
            raise
        self._indexed[name] = server
        return server

    def stop(self) -> None:
        """Stop the server that runs."""
        for server in self._indexed.values():
            if server.is_alive():
                server.stop()


@pytest.fixture(scope="session")
def tree_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TreeServers]:
    """What `server_of` asks."""
    servers = TreeServers(tmp_path_factory.mktemp("trees"))
    yield servers
    servers.stop()


@pytest.fixture
def server_of(request: pytest.FixtureRequest, tree_servers: TreeServers) -> ServerOf:
    """Return the server that holds a tree, by the tree's name; it runs until another tree's is asked for.

    Skips where the tree cannot be had.
    """

    def running(name: str) -> Server:
        if name == VLLM:
            return tree_servers.running(name, request.getfixturevalue("vllm_root"), VLLM_TREE)
        return tree_servers.running(name, fetched(next(tree for tree in TREES if tree.name == name)), ".")

    return running
