"""Fixtures that tests of several parts share."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import platformdirs
import pytest
from hypothesis import HealthCheck, settings

from tests.support.client import run_client
from tests.support.processes import Server, ServiceProcess, Worker, leaked_processes
from tests.support.valkey import Valkey

PROJECT_DIR = Path(__file__).resolve().parents[1]

# The same examples on every machine, however slow it is: a change that fails is at fault itself. Other examples are
# tried by `pytest --hypothesis-profile=default`.
settings.register_profile(
    "groundwire", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("groundwire")

# A shell that runs this in the background lets it ignore Ctrl-C, and so would every process that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def project_dir() -> Path:
    """The root of this checkout."""
    return PROJECT_DIR


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder beside this checkout that holds the question sets; tests that need it skip where it is absent."""
    shared = PROJECT_DIR.parent / "shared"
    if not (shared / "datasets").is_dir():
        pytest.skip("no ../shared beside this checkout: the question sets and the vLLM tree are not here")
    return shared


@pytest.fixture(scope="session")
def vllm_root(shared_dir: Path) -> Path:
    """A folder in which `data/raw/vllm-0.10.1` is the vLLM tree, fetched once into a cache outside of the project."""
    cache = os.environ.get("GROUNDWIRE_CORPORA_DIR")
    root = Path(cache) if cache else platformdirs.user_cache_path("groundwire") / "corpora"
    root.mkdir(parents=True, exist_ok=True)
    fetched = subprocess.run(
        [sys.executable, os.fspath(shared_dir / "corpora" / "fetch_vllm.py"), "data/raw"],
        cwd=root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if fetched.returncode != 0:
        pytest.fail(f"the vLLM tree could not be fetched: {fetched.stderr.strip()[-500:]}")
    return root


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    """One Valkey for the session; tests that stop it start their own."""
    started = Valkey(tmp_path_factory.mktemp("valkey")).start()
    yield started
    started.stop()


@pytest.fixture(scope="session")
def server(valkey: Valkey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the session, empty at first; tests keep apart by collections of their own."""
    started = Server(tmp_path_factory.mktemp("server"), redis_url=valkey.url)
    started.start()
    yield started
    started.stop()


@pytest.fixture(scope="session")
def worker(valkey: Valkey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """One worker for the session's server."""
    started = Worker(tmp_path_factory.mktemp("worker"), redis_url=valkey.url)
    started.start()
    yield started
    started.stop()


@pytest.fixture
def channel(server: Server) -> Iterator[grpc.Channel]:
    """A channel to the session's server."""
    with server.channel() as opened:
        yield opened


@pytest.fixture
def collection() -> str:
    """A collection name that no other test uses."""
    return f"t{uuid.uuid4().hex[:16]}"


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[Valkey]:
    """A Valkey of the test's own, to be killed and restarted."""
    started = Valkey(tmp_path / "valkey").start()
    yield started
    started.stop()


def _owned_processes() -> Iterator[Callable[[ServiceProcess], ServiceProcess]]:
    owned: list[ServiceProcess] = []

    def own(service: ServiceProcess) -> ServiceProcess:
        owned.append(service)
        return service

    yield own
    for service in owned:
        if service.is_alive():
            service.kill()


@pytest.fixture
def own_process() -> Iterator[Callable[[ServiceProcess], ServiceProcess]]:
    """Hand over a process (started or not); it is ended when the test is."""
    yield from _owned_processes()


@pytest.fixture(scope="module")
def module_process() -> Iterator[Callable[[ServiceProcess], ServiceProcess]]:
    """As `own_process`, for all tests of a module."""
    yield from _owned_processes()


@pytest.fixture(scope="session", autouse=True)
def _nothing_outlives_the_session() -> Iterator[None]:
    yield
    leaked = leaked_processes()
    assert not leaked, f"still running at the end: {[f'{service.script} {service.pid}' for service in leaked]}"


@pytest.fixture(scope="session")
def harbour(server: Server) -> str:
    """A collection of the session's server that holds examples/harbour, all vectors computed; tests only read it."""
    name = "harbour"
    run_client(server.address, "index", "examples/harbour", "--collection", name, "--wait", cwd=PROJECT_DIR).assert_ok()
    return name
