"""`make up` with real processes: one address when ready, restarts what dies, leaves nothing behind."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from deploy.one_machine import say
from tests.support.deadline import wait_until
from tests.support.process_tree import child_pids, is_running
from tests.support.processes import PROJECT_DIR, process_environment

READY = re.compile(r"groundwire is ready on (\S+)")
PROGRAMS = ("valkey-server", "retrieval-server", "generation-worker", "tethered_supervisord")
SETTINGS = {"GROUNDWIRE_LISTEN": "127.0.0.1:0", "GROUNDWIRE_REDIS_URL": "redis://127.0.0.1:0"}


class Up:
    """One `make up`, its output, and the processes below it."""

    def __init__(self, data_dir: Path, output: Path) -> None:
        self.data_dir = data_dir
        self._output = output
        with output.open("wb") as written:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "deploy.one_machine"],
                cwd=PROJECT_DIR,
                env=process_environment(SETTINGS | {"GROUNDWIRE_DATA_DIR": os.path.relpath(data_dir, PROJECT_DIR)}),
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=written,
                start_new_session=True,
            )

    @property
    def text(self) -> str:
        return self._output.read_text(encoding="utf-8")

    def wait_ready(self) -> str:
        """The address."""

        def look() -> re.Match[str] | None:
            assert self.process.poll() is None, self.text
            return READY.search(self.text)

        found = wait_until(look, timeout_s=100, what="make up is ready")
        return str(found[1])

    def pids(self) -> dict[str, int]:
        """Running processes below this one by the name of their program."""
        found: dict[str, int] = {}
        for pid in child_pids(self.process.pid):
            command = " ".join(_command_of(pid))
            found |= {name: pid for name in PROGRAMS if name in command}
        return found

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    """A running `make up` on free ports, its data directory given as a relative path."""
    running = Up(tmp_path / "data dir 100%", tmp_path / "output.txt")
    running.wait_ready()
    yield running
    running.end()


def _command_of(pid: int) -> list[str]:
    """Nothing when it has ended meanwhile."""
    try:
        command = (Path("/proc") / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return command.decode(errors="replace").rstrip("\0").split("\0")


def all_gone(pids: dict[str, int]) -> bool:
    return not any(map(is_running, pids.values()))


def test_what_dies_comes_back_and_a_signal_drains_in_order(up: Up) -> None:
    before = up.pids()
    assert set(before) == set(PROGRAMS)
    killed = ("retrieval-server", "generation-worker", "valkey-server")
    for name in killed:
        os.kill(before[name], signal.SIGKILL)
    wait_until(
        lambda: (now := up.pids()).keys() == before.keys() and all(now[name] != before[name] for name in killed),
        timeout_s=100,
        what="all three run again",
    )
    wait_until(lambda: up.text.count("worker ready") == 2, timeout_s=100, what="the worker is ready again")
    wait_until(lambda: up.text.count("server ready") == 2, timeout_s=100, what="the server is ready again")
    running = up.pids()

    second = subprocess.run(
        [sys.executable, "-m", "deploy.one_machine"],
        cwd=PROJECT_DIR,
        env=process_environment(SETTINGS | {"GROUNDWIRE_DATA_DIR": os.fspath(up.data_dir)}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (second.returncode, second.stdout) == (2, "")
    assert len(second.stderr.splitlines()) == 1
    assert str(up.process.pid) in second.stderr

    up.process.send_signal(signal.SIGINT)
    wait_until(lambda: "stopping worker" in up.text, timeout_s=100, what="the stop has begun")
    # All ends while nobody looks at the logs, so that their lines are found at once: the order shown is still theirs.
    up.process.send_signal(signal.SIGSTOP)
    programs = {name: pid for name, pid in running.items() if name != "tethered_supervisord"}
    wait_until(lambda: all_gone(programs), timeout_s=60, what="worker, server and Valkey have ended")
    up.process.send_signal(signal.SIGCONT)
    assert up.process.wait(timeout=60) == 0, up.text
    assert all_gone(running)
    stops = [up.text.rfind(text) for text in ("worker stopped", "server stopped", "bye bye")]
    assert stops == sorted(stops)
    assert stops[0] > 0, up.text
    assert "Traceback" not in up.text


def test_nothing_outlives_a_supervisor_that_was_killed(up: Up) -> None:
    running = up.pids()
    os.kill(running["tethered_supervisord"], signal.SIGKILL)
    assert up.process.wait(timeout=60) == 2
    assert all_gone(running)
    assert "the supervisor ended" in up.text


def test_nothing_outlives_a_make_up_that_was_killed(up: Up) -> None:
    running = up.pids()
    own = Path(_command_of(running["tethered_supervisord"])[-2]).parent
    assert own.is_dir()
    up.process.kill()
    up.process.wait()
    wait_until(lambda: all_gone(running), timeout_s=60, what="server, worker and Valkey have drained")
    assert not own.exists()


def refused_line(settings: dict[str, str]) -> str:
    """Return the one line with which `make up` refuses to start."""
    refused = subprocess.run(
        [sys.executable, "-m", "deploy.one_machine"],
        cwd=PROJECT_DIR,
        env=process_environment(SETTINGS | settings),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode == 2, refused.stderr
    (line,) = refused.stderr.splitlines()
    return line


def test_a_program_that_cannot_start_ends_all_with_its_own_line(tmp_path: Path) -> None:
    folders = {f"GROUNDWIRE_{name.upper()}_DIR": os.fspath(tmp_path / name) for name in ("data", "models")}
    (tmp_path / "models").mkdir()
    assert "make models" in refused_line(folders)


def test_a_line_that_a_full_disk_has_no_room_for_is_lost_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115 - closing it fails, as it must
    monkeypatch.setattr(sys, "stdout", full)
    say("12:00:00 server  server ready")
    with suppress(OSError):
        full.close()


def test_a_log_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "logs" / "supervisord.out").mkdir(parents=True)
    folder = os.fspath(tmp_path)
    assert "supervisord.out" in refused_line({"GROUNDWIRE_DATA_DIR": folder, "TMPDIR": folder})
    assert not list(tmp_path.glob("groundwire-*"))
