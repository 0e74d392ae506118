"""The server dies while it indexes: what it acknowledged is there, and indexing again completes the rest."""

import contextlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.client import run_client
from tests.support.datasets import write_dataset
from tests.support.deadline import wait_until
from tests.support.process_tree import child_pids, is_running
from tests.support.processes import BIN, PROJECT_DIR, Server, ServiceProcess, process_environment
from tests.support.rpc import corpus_stats

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]
Own = Callable[[ServiceProcess], ServiceProcess]
NO_REDIS = "redis://127.0.0.1:1/0"


def searched(server: Server, home: Path, label: str) -> bytes:
    save = ("--save-directory", f"results/{label}")
    run_client(server.address, "search-dataset", "questions.json", *save, cwd=home).assert_ok()
    (written,) = (home / "results" / label).glob("*.json")
    return written.read_bytes()


@pytest.mark.parametrize("kill_after_s", [0.3, 0.8, 1.6])
def test_a_server_killed_while_indexing_ends_up_as_one_that_was_not(
    tmp_path: Path, own_process: Own, kill_after_s: float
) -> None:
    home = tmp_path / "home"
    for part in ("retrieval_server", "client", "examples"):
        shutil.copytree(PROJECT_DIR / part, home / "tree" / part, ignore=shutil.ignore_patterns("__pycache__"))
    write_dataset(home / "questions.json")
    killed = Server(tmp_path / "killed", redis_url=NO_REDIS)
    own_process(killed).start()
    indexing = subprocess.Popen(
        [BIN / "client", "--server", killed.address, "index", "tree"],
        cwd=home,
        env=process_environment({}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # Wherever the kill lands, before, within or after the commit, the end must be the same.
    with contextlib.suppress(subprocess.TimeoutExpired):
        indexing.wait(timeout=kill_after_s)
    helpers = child_pids(killed.pid)
    killed.kill()
    indexing.wait(timeout=60)
    wait_until(lambda: not any(map(is_running, helpers)), timeout_s=100, what="the server's own helpers have ended")

    killed.start()
    run_client(killed.address, "index", "tree", "--wait", cwd=home).assert_ok()
    with killed.channel() as channel:
        wait_until(lambda: corpus_stats(channel, "default").stats.dense_coverage >= 1, timeout_s=200, what="vectors")
    after_the_kill = searched(killed, home, "killed")

    fresh = Server(tmp_path / "fresh", redis_url=NO_REDIS)
    own_process(fresh).start()
    run_client(fresh.address, "index", "tree", "--wait", cwd=home).assert_ok()
    assert after_the_kill == searched(fresh, home, "fresh")
