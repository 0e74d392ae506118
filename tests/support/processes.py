"""The real server and worker as processes, as an operator starts them: an environment, a log, a signal."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grpc

from tests.support.deadline import wait_until

BIN = Path(sys.executable).parent
PROJECT_DIR = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 100.0
CHANNEL_OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_receive_message_length", 8 * 1024 * 1024),
    ("grpc.max_send_message_length", 8 * 1024 * 1024),
    # Channels to one address share their connection otherwise, and tests their fate.
    ("grpc.use_local_subchannel_pool", 1),
)
_running: set["ServiceProcess"] = set()


def unprivileged_command(command: list[str]) -> list[str]:
    """The same command, run so that file permissions count although the tests run as root."""
    return [sys.executable, os.fspath(PROJECT_DIR / "tests" / "support" / "unprivileged.py"), *command]


def process_environment(overrides: Mapping[str, str]) -> dict[str, str]:
    """This environment without its GROUNDWIRE_ settings (the models' place stays), with `overrides`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GROUNDWIRE_") or k == "GROUNDWIRE_MODELS_DIR"}
    return kept | dict(overrides)


class ServiceProcess:
    """A console script that logs JSON lines to standard error."""

    def __init__(self, script: str, ready_event: str, env: Mapping[str, str], directory: Path) -> None:
        self.script = script
        self.ready_event = ready_event
        self.env = dict(env)
        directory.mkdir(parents=True, exist_ok=True)
        self.log_path = directory / f"{script}-{len(list(directory.glob(f'{script}-*.log')))}.log"
        self._log_offset_bytes = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def command(self) -> list[str]:
        """What is run."""
        return [os.fspath(BIN / self.script)]

    def launch(self) -> "ServiceProcess":
        """Start it and return at once."""
        self._log_offset_bytes = self.log_path.stat().st_size if self.log_path.exists() else 0
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                env=process_environment(self.env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.log_path.parent,
                start_new_session=True,
            )
        _running.add(self)
        return self

    def start(self) -> "ServiceProcess":
        """Start it and wait until it says that it is ready."""
        self.launch()
        self.wait_for_event(self.ready_event, timeout_s=START_TIMEOUT_S)
        return self

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.process.pid

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process; AssertionError before the start."""
        if self._process is None:
            raise AssertionError(f"{self.script} was not started")
        return self._process

    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    def log_text(self) -> str:
        """All that it wrote since its last start."""
        return self.log_path.read_bytes()[self._log_offset_bytes :].decode(errors="replace")

    def events(self, name: str | None = None) -> list[dict[str, Any]]:
        """The log's JSON lines since the last start, those named `name` when given."""
        parsed = []
        for line in self.log_text().splitlines():
            if line.startswith("{") and line.endswith("}"):
                event = json.loads(line)
                if name is None or event.get("event") == name:
                    parsed.append(event)
        return parsed

    def all_events(self, name: str) -> list[dict[str, Any]]:
        """As `events`, of every start."""
        offset_bytes, self._log_offset_bytes = self._log_offset_bytes, 0
        try:
            return self.events(name)
        finally:
            self._log_offset_bytes = offset_bytes

    def wait_for_event(self, name: str, *, timeout_s: float) -> dict[str, Any]:
        """The first event of that name; AssertionError with the log when the process ends or time runs out."""

        def look() -> dict[str, Any] | None:
            if found := self.events(name):
                return found[0]
            if not self.is_alive():
                raise AssertionError(f"{self.script} ended with {self.process.returncode}:\n{self.log_text()[-4000:]}")
            return None

        try:
            found = wait_until(look, timeout_s=timeout_s, what=f"{self.script} logs {name!r}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log_text()[-4000:]}") from None
        return found  # type: ignore[return-value]

    def wait_for_exit(self, timeout_s: float = 100.0) -> int:
        """Wait until it ends by itself; its exit code."""
        status = self.process.wait(timeout=timeout_s)
        _running.discard(self)
        return status

    def stop(self, timeout_s: float = 100.0) -> int:
        """SIGTERM and wait; its exit code. Killed, with an AssertionError, when it does not end in time."""
        if self.is_alive():
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.wait_for_exit(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(
                f"{self.script} ignored SIGTERM for {timeout_s:g} s:\n{self.log_text()[-4000:]}"
            ) from None

    def kill(self) -> None:
        """SIGKILL and wait."""
        self.process.kill()
        self.wait_for_exit()


class Server(ServiceProcess):
    """A retrieval server on a port of its own choice, unless told one."""

    def __init__(self, directory: Path, *, redis_url: str, **settings: str) -> None:
        self.data_dir = directory / "data"
        env = {
            "GROUNDWIRE_LISTEN": "127.0.0.1:0",
            "GROUNDWIRE_DATA_DIR": os.fspath(self.data_dir),
            "GROUNDWIRE_REDIS_URL": redis_url,
        } | settings
        super().__init__("retrieval-server", "server ready", env, directory)

    @property
    def address(self) -> str:
        """HOST:PORT, known once it is ready."""
        return str(self.wait_for_event("server ready", timeout_s=START_TIMEOUT_S)["address"])

    def channel(self) -> grpc.Channel:
        """A new channel; the caller closes it."""
        return grpc.insecure_channel(self.address, options=CHANNEL_OPTIONS)


class SmallServer(Server):
    """A server that a few documents are a large corpus to; see `tests/support/small_server.py`."""

    def __init__(self, directory: Path, *, redis_url: str, **settings: str) -> None:
        super().__init__(directory, redis_url=redis_url, **settings)
        self.env["PYTHONPATH"] = os.fspath(PROJECT_DIR)

    @property
    def command(self) -> list[str]:
        """What is run."""
        return [sys.executable, "-m", "tests.support.small_server"]


class UnprivilegedServer(Server):
    """A server for which file permissions count although the tests run as root."""

    @property
    def command(self) -> list[str]:
        """What is run."""
        return unprivileged_command(super().command)


class Worker(ServiceProcess):
    """A generation worker."""

    def __init__(self, directory: Path, *, redis_url: str, **settings: str) -> None:
        super().__init__("generation-worker", "worker ready", {"GROUNDWIRE_REDIS_URL": redis_url} | settings, directory)


def leaked_processes() -> list[ServiceProcess]:
    """Those that were started and neither stopped nor killed; they are killed now."""
    leaked = [service for service in _running if service.is_alive()]
    for service in leaked:
        service.kill()
    return leaked
