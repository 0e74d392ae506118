"""The client as people use it: the `client` program in a process of its own."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.processes import BIN, process_environment, unprivileged_command


@dataclass(frozen=True)
class ClientRun:
    """How one call of the client ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """Both streams, for messages."""
        return f"exit {self.exit_code}\n{self.stdout}\n{self.stderr}"

    @property
    def json(self) -> Any:
        """Standard output as one JSON value."""
        return json.loads(self.stdout)

    def assert_ok(self) -> "ClientRun":
        """Fail with everything that the client wrote unless it succeeded."""
        assert self.exit_code == 0, self.output
        return self

    def assert_refused(self, *fragments: str) -> "ClientRun":
        """It failed with a message that holds each fragment, in a few lines and without a traceback."""
        assert self.exit_code not in {0, None}, self.output
        assert "Traceback" not in self.stdout + self.stderr, self.output
        assert self.stderr.strip(), self.output
        assert len(self.stderr.strip().splitlines()) <= 6, self.output
        for fragment in fragments:
            assert fragment.lower() in self.stderr.lower(), self.output
        return self


def run_client(
    address: str, *arguments: str | Path, cwd: Path, timeout_s: float = 250.0, unprivileged: bool = False
) -> ClientRun:
    """Run `client --server ADDRESS ARGUMENTS…` in `cwd`, for which permissions count when `unprivileged`."""
    command = [os.fspath(BIN / "client"), "--server", address, *(os.fspath(argument) for argument in arguments)]
    done = subprocess.run(
        unprivileged_command(command) if unprivileged else command,
        cwd=cwd,
        env=process_environment({}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout_s,
        check=False,
    )
    return ClientRun(done.returncode, done.stdout.decode(), done.stderr.decode())
