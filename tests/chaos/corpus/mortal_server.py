"""A server to be killed, from outside at any moment or by itself at a step of a commit."""

import os
import sys
from pathlib import Path

from retrieval_server.corpus.commit_steps import CommitStep
from tests.support.processes import PROJECT_DIR, Server

NO_REDIS = "redis://127.0.0.1:1/0"


class MortalServer(Server):
    """The real server; with a fault set it dies at the nth passing of that step."""

    def __init__(self, directory: Path, **settings: str) -> None:
        super().__init__(directory, redis_url=NO_REDIS, **settings)
        self.fault: tuple[CommitStep, int] | None = None
        self.env["PYTHONPATH"] = os.fspath(PROJECT_DIR)

    @property
    def command(self) -> list[str]:
        """What is run."""
        if self.fault is None:
            return super().command
        step, count = self.fault
        return [sys.executable, "-m", "tests.support.dying_server", step.value, str(count)]
