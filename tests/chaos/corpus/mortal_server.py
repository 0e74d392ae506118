"""A server to be killed, from outside at any moment or by itself at a step of a change."""

from pathlib import Path

from retrieval_server.corpus.files.commit_steps import CommitStep
from tests.support.processes import Server, SmallServer

NO_REDIS = "redis://127.0.0.1:1/0"


class MortalServer(SmallServer):
    """The real server; with a fault set, and small limits, it dies at the nth passing of that step."""

    def __init__(self, directory: Path, **settings: str) -> None:
        super().__init__(directory, redis_url=NO_REDIS, **settings)
        self.fault: tuple[CommitStep, int] | None = None

    @property
    def command(self) -> list[str]:
        """What is run."""
        if self.fault is None:
            return Server.command.__get__(self)
        step, count = self.fault
        return [*super().command, step.value, str(count)]
