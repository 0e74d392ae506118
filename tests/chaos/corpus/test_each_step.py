"""The server dies at each step of all that changes files, one by one; nothing is lost or left in disagreement."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from retrieval_server.corpus.files.commit_steps import CommitStep
from tests.chaos.corpus.checks import check_agreement
from tests.chaos.corpus.mortal_run import Run
from tests.chaos.corpus.mortal_server import MortalServer
from tests.support.processes import ServiceProcess

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1800)]
# Steps of upkeep are passed when edits pause, which they do for up to this long.
MAX_PAUSE_S = 0.6
MAX_PER_STEP_S = 120.0


class StepRun(Run):
    """As its base, but of the one fault that was asked for, again and again until it is met."""

    wanted: tuple[CommitStep, int] | None = None

    def next_fault(self) -> tuple[CommitStep, int] | None:
        """Return what the next server is to die of."""
        return self.wanted

    def die_of(self, step: CommitStep) -> None:
        """Let the next server die of a step, then let one live that is checked."""
        self.client.close()
        self.server.stop()
        death_count = self.deaths.total()
        self.wanted = (step, 1)
        self.client = self._started()
        self.wanted = None
        deadline = time.monotonic() + MAX_PER_STEP_S
        while self.deaths.total() == death_count:
            if time.monotonic() > deadline:
                raise AssertionError(f"{step.value} was not passed within {MAX_PER_STEP_S:g} s")
            self.step()
            if self.chance.random() < 0.5:
                time.sleep(self.chance.uniform(0, MAX_PAUSE_S))
        check_agreement(self.client, self.state, self.server.data_dir)


def test_a_death_at_any_step_loses_nothing_and_leaves_all_in_agreement(
    tmp_path: Path, own_process: Callable[[ServiceProcess], ServiceProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tree = Path("tree")
    tree.mkdir()
    server = MortalServer(tmp_path / "server", GROUNDWIRE_ENCODER="hashing")
    own_process(server)
    run = StepRun(1, server, tree)
    for _ in range(20):
        run.step()
    for step in CommitStep:
        run.die_of(step)
    run.finish()
