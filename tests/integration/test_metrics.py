"""What a server tells Prometheus."""

import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from tests.integration.test_bad_environment import NO_REDIS, start_refused
from tests.support.client import run_client
from tests.support.processes import Server, ServiceProcess
from tests.support.rpc import retrieve, wait_for_vectors


def _scraped(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as response:
        return str(response.read().decode())


def test_calls_and_remembered_queries_are_counted(
    tmp_path: Path, own_process: Callable[[ServiceProcess], ServiceProcess]
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.md").write_text("# Harbour\n\nThe harbour light is green.\n", encoding="utf-8")
    server = Server(tmp_path, redis_url=NO_REDIS, GROUNDWIRE_METRICS_LISTEN="127.0.0.1:0")
    own_process(server).start()
    run_client(server.address, "index", "tree", "--wait", cwd=tmp_path).assert_ok()
    with server.channel() as channel:
        wait_for_vectors(channel, "default")
        for _ in range(3):
            retrieve(channel, "which colour is the harbour light", collection="default")
        with pytest.raises(grpc.RpcError):
            retrieve(channel, " ", collection="default")
    [ready] = server.events("metrics ready")
    scraped = _scraped(ready["address"])
    method = 'method="/groundwire.v1.RetrievalService/Retrieve"'
    assert f'groundwire_rpc_seconds_count{{code="OK",{method}}} 3.0' in scraped
    assert f'groundwire_rpc_seconds_count{{code="INVALID_ARGUMENT",{method}}} 1.0' in scraped
    assert 'groundwire_query_cache_requests_total{cache="result",outcome="hit"} 2.0' in scraped
    assert 'groundwire_query_cache_requests_total{cache="query_vector",outcome="miss"} 1.0' in scraped
    assert server.stop() == 0


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "nowhere", "taken"])
def test_an_address_that_cannot_be_used_is_named(tmp_path: Path, listen: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        if listen == "taken":
            listen = f"127.0.0.1:{taken.getsockname()[1]}"
        done = start_refused("retrieval-server", tmp_path, GROUNDWIRE_METRICS_LISTEN=listen)
    assert listen in done.stderr
