"""Valkey, server and worker under supervisord, as one thing that starts, becomes ready and stops."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xmlrpc.client import Fault, ServerProxy

from supervisor.xmlrpc import SupervisorTransport  # type: ignore[import-untyped]

from deploy.log_view import LogTail, parse_event
from deploy.plan import Plan, StartupError
from deploy.supervisor_config import SERVER, WORKER, log_name, programs, render_config

READY_EVENTS = {SERVER: "server ready", WORKER: "worker ready"}
# A model that is read from a cold disk takes the worker longest.
READY_TIMEOUT_S = 120.0
_POLL_S = 0.1
_STATUS_POLL_S = 0.5
_KILL_TIMEOUT_S = 5.0
_DEAD_STATES = {"BACKOFF", "EXITED", "FATAL", "UNKNOWN"}


class Machine:
    """The processes of one machine. `start`, then `pump` for as long as it is to run, then `stop`."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._programs = programs(plan)
        self._tails = {program.name: LogTail(plan.log_dir / log_name(program.name)) for program in self._programs}
        self._ready: set[str] = set()
        self._pids: dict[str, int] = {}
        self._first_pids: dict[str, int] = {}
        self._last_lines: dict[str, str] = {}
        self._status_polled_s = 0.0
        # Short, since a socket's path may have about a hundred bytes, and new, so nothing in it is ever stale.
        self._run_dir = Path(tempfile.mkdtemp(prefix="groundwire-"))
        self._supervisord: subprocess.Popen[bytes] | None = None

    @property
    def is_ready(self) -> bool:
        """Whether server and worker have both said that they are ready."""
        return self._ready >= READY_EVENTS.keys()

    @property
    def is_running(self) -> bool:
        """Whether the supervisor runs."""
        return self._supervisord is not None and self._supervisord.poll() is None

    def start(self) -> None:
        """Start the supervisor, which starts the rest. Raises StartupError when its files cannot be written."""
        config = self._run_dir / "supervisord.conf"
        try:
            config.write_text(render_config(self.plan, self._run_dir), encoding="utf-8")
            with (self.plan.log_dir / "supervisord.out").open("wb") as output:
                self._supervisord = subprocess.Popen(
                    [sys.executable, "-m", "deploy.tethered_supervisord", os.fspath(config), str(os.getpid())],
                    cwd=Path(__file__).resolve().parents[1],
                    env=self.plan.environment(os.environ),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    # Ctrl-C reaches the whole foreground group; only this process may decide what it means.
                    start_new_session=True,
                )
        except OSError as error:
            raise StartupError(f"cannot start: {error}") from error

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> Iterator[tuple[str, str]]:
        """Yield log lines until all is ready; StartupError when a program cannot start or time is up."""
        deadline_s = time.monotonic() + timeout_s
        while not self.is_ready:
            yield from self.pump()
            yield from self._check_start()
            if time.monotonic() > deadline_s:
                missing = ", ".join(sorted(READY_EVENTS.keys() - self._ready))
                raise StartupError(f"not ready within {timeout_s:.0f} s: {missing}; see {self.plan.log_dir}")
            time.sleep(_POLL_S)

    def pump(self) -> list[tuple[str, str]]:
        """New log lines as (program, line); notes who became ready and which processes run."""
        found: list[tuple[str, str]] = []
        for name, tail in self._tails.items():
            for line in tail.lines():
                event = parse_event(line)
                if event is not None and event["event"] == READY_EVENTS.get(name):
                    self._ready.add(name)
                found.append((name, line))
                self._last_lines[name] = line
        if time.monotonic() - self._status_polled_s > _STATUS_POLL_S:
            self._status_polled_s = time.monotonic()
            self._note_pids()
        return found

    def stop(self, is_urgent: Callable[[], bool]) -> Iterator[tuple[str, str]]:
        """Stop worker, server and Valkey in this order, each drained, unless it becomes urgent; yields log lines."""
        if self._supervisord is None:
            return
        self._supervisord.send_signal(signal.SIGTERM)
        deadline_s = time.monotonic() + sum(program.stop_wait_s for program in self._programs) + 10
        while self.is_running and time.monotonic() < deadline_s and not is_urgent():
            yield from self._pump_in_stop_order()
            time.sleep(_POLL_S)
        if is_urgent():
            return
        self._end_orphans()
        yield from self._pump_in_stop_order()

    def _pump_in_stop_order(self) -> list[tuple[str, str]]:
        """New log lines, each program's after those of the programs that had to end before it was told to.

        `pump` reads what ends last first: a line of Valkey's end that it finds was written after the server's, which
        are thus found in the same round, however long the rounds are.
        """
        rank = {program.name: -program.priority for program in self._programs}
        return sorted(self.pump(), key=lambda entry: rank[entry[0]])

    def kill(self) -> None:
        """End everything at once. Safe for what was acknowledged: it is on disk."""
        if self._supervisord is None:
            return
        # Told to stop it starts nothing again, and it reaps what is killed here.
        self._supervisord.send_signal(signal.SIGTERM)
        deadline_s = time.monotonic() + _KILL_TIMEOUT_S
        while True:
            running = self.is_running
            self._note_pids()
            for pid in self._pids.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not running or time.monotonic() > deadline_s:
                break
            time.sleep(_POLL_S)
        self._supervisord.kill()
        self._supervisord.wait()
        self._pids.clear()

    def close(self) -> None:
        """Kill what still runs and remove the run folder."""
        self.kill()
        for tail in self._tails.values():
            tail.close()
        shutil.rmtree(self._run_dir, ignore_errors=True)

    def _end_orphans(self) -> None:
        """A supervisor that was killed leaves its programs behind; end them in the same order."""
        if self._supervisord is not None and self._supervisord.poll() == 0:
            self._pids.clear()
            return
        for program in reversed(self._programs):
            pid = self._pids.pop(program.name, None)
            if pid is not None:
                _end_process(pid, program.stop_wait_s)

    def check_supervisor(self) -> None:
        """Raise StartupError when the supervisor has ended by itself."""
        if not self.is_running:
            raise StartupError(f"the supervisor ended; see {self.plan.log_dir / 'supervisord.log'}")

    def _check_start(self) -> Iterator[tuple[str, str]]:
        """Nothing dies as it starts unless something is wrong; what is wrong is the last that it said."""
        self.check_supervisor()
        for name, info in self._status().items():
            pid = self._first_pids.setdefault(name, info["pid"]) if info["pid"] else None
            if info["statename"] in _DEAD_STATES or pid not in {None, info["pid"]}:
                yield from self.pump()
                raise StartupError(
                    self._last_lines.get(name) or f"{name} ended; see {self.plan.log_dir / log_name(name)}"
                )

    def _note_pids(self) -> None:
        """Keep what was known when the supervisor does not answer: it may have been killed."""
        if status := self._status():
            self._pids = {name: info["pid"] for name, info in status.items() if info["pid"]}

    def _status(self) -> dict[str, Any]:
        """What supervisord says of each program; empty while it does not answer."""
        transport = SupervisorTransport(None, None, f"unix://{self._run_dir / 'control.sock'}")
        try:
            found: Any = ServerProxy("http://127.0.0.1", transport=transport).supervisor.getAllProcessInfo()
        except (OSError, Fault):
            return {}
        finally:
            transport.close()
        return {info["name"]: info for info in found}


def _end_process(pid: int, wait_s: float) -> None:
    """SIGTERM, then SIGKILL after `wait_s`, to a process that is not a child of this one."""
    deadline_s = time.monotonic() + wait_s
    try:
        os.kill(pid, signal.SIGTERM)
        while time.monotonic() < deadline_s:
            time.sleep(_POLL_S)
            os.kill(pid, 0)
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
