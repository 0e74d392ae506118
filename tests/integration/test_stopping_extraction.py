"""A server that is told to stop while a file is hard to read: the reading is ended, and nobody waits for it."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.client import run_client
from tests.support.deadline import wait_until
from tests.support.process_tree import child_pids
from tests.support.processes import Server, ServiceProcess

Own = Callable[[ServiceProcess], ServiceProcess]
DRAIN_S = 1.0
# Below the 20 s of processor time that one file may take, on a machine that does other things as well.
MOST_S = 14.0
# Nested so deeply that it takes a minute to read.
HARD = "<div>\n" * 300_000
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """Processor time that a process has taken; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def test_sigterm_while_a_file_is_being_read_ends_the_reading_and_the_server(tmp_path: Path, own_process: Own) -> None:
    (tmp_path / "hard.html").write_text(HARD, encoding="utf-8")
    server = Server(
        tmp_path / "server",
        redis_url="redis://127.0.0.1:1/0",
        GROUNDWIRE_LEXICAL_ONLY="true",
        GROUNDWIRE_DRAIN_TIMEOUT_S=f"{DRAIN_S}",
    )
    own_process(server).start()
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(run_client, server.address, "index", "hard.html", cwd=tmp_path)
        wait_until(
            lambda: any(cpu_s(pid) > 1 for pid in child_pids(server.pid)), timeout_s=100, what="a file is being read"
        )
        readers = child_pids(server.pid)
        began_s = time.monotonic()
        assert server.stop() == 0
        took_s = time.monotonic() - began_s
        asked.result().assert_refused()
    assert took_s < DRAIN_S + MOST_S
    wait_until(lambda: not any(map(cpu_s, readers)), timeout_s=60, what="nothing reads on")
