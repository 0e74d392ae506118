"""A Valkey, a server with the example corpus and two workers of the test's own, all to be killed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.cluster import LEASE_S, Cluster
from tests.support.client import run_client
from tests.support.processes import PROJECT_DIR, Server, ServiceProcess, Worker
from tests.support.rpc import wait_for_vectors
from tests.support.valkey import Valkey


@pytest.fixture
def cluster(tmp_path: Path, own_valkey: Valkey, own_process: Callable[[ServiceProcess], ServiceProcess]) -> Cluster:
    """Everything running and ready."""
    lease = {"GROUNDWIRE_LEASE_S": str(LEASE_S)}
    server = Server(tmp_path / "server", redis_url=own_valkey.url, **lease)
    own_process(server).start()
    run_client(server.address, "index", "examples/harbour", cwd=PROJECT_DIR).assert_ok()
    with server.channel() as channel:
        wait_for_vectors(channel, "default")
    # One thread each, so that an answer takes long enough to be killed in its middle.
    slow = lease | {"GROUNDWIRE_WORKER_THREADS": "1"}
    workers = [Worker(tmp_path / f"worker{number}", redis_url=own_valkey.url, **slow) for number in range(2)]
    for worker in workers:
        own_process(worker).start()
    return Cluster(own_valkey, server, workers)
