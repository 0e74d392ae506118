"""Random changes of a corpus while its server is killed, again and again: nothing acknowledged is lost, nothing lies.

`make chaos-corpus`; GROUNDWIRE_CHAOS_SEED repeats a run.
"""

import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import client as groundwire
from retrieval_server.corpus.commit_steps import CommitStep
from tests.chaos.corpus.checks import check_agreement, shown, stored_state
from tests.chaos.corpus.model import COLLECTION, Expected, Operation, Operations
from tests.chaos.corpus.mortal_server import MortalServer
from tests.support.processes import ServiceProcess

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]
OPERATION_COUNT = 300
MIN_KILL_COUNT = 40
TIME_LIMIT_S = 240.0
KILL_SHARE = 0.12
FAULT_SHARE = 0.4
CALL_TIMEOUTS = groundwire.Timeouts(call_s=20.0)


class Run:
    """One run: the server, what it must hold, and how often it died."""

    def __init__(self, seed: int, server: MortalServer, tree: Path) -> None:
        self.chance = random.Random(seed)
        self.server = server
        self.operations = Operations(self.chance, tree)
        self.state: dict[str, Expected] = {}
        self.deaths: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.client = self._started()

    def step(self) -> None:
        """Do one operation; perhaps the server dies of it, and then it must show either no trace of it or all."""
        operation = self.operations.next(self.state)
        self.done[operation.name] += 1
        killer = self._killer() if self.server.fault is None and self.chance.random() < KILL_SHARE else None
        try:
            operation.run(self.client)
        except groundwire.ClientError:
            if killer is not None:
                killer.join()
            elif self.server.fault is None:
                raise
            self._recover(operation)
        else:
            self.state = operation.after
            if killer is not None:
                killer.join()
                self._recover(None)

    def finish(self) -> None:
        """Let everything be checked once more."""
        check_agreement(self.client, self.state, self.server.data_dir)
        self.client.close()
        assert self.server.stop() == 0

    def _killer(self) -> threading.Thread:
        delay_s = self.chance.uniform(0, 0.06)

        def kill() -> None:
            time.sleep(delay_s)
            self.server.process.kill()

        thread = threading.Thread(target=kill)
        thread.start()
        return thread

    def _recover(self, unanswered: Operation | None) -> None:
        died_of = f"at {self.server.fault[0].value}" if self.server.fault else "at a random moment"
        self.server.wait_for_exit()
        self.deaths[died_of] += 1
        self.client.close()
        self.client = self._started()
        stored = stored_state(self.client)
        possible = [shown(self.state), *([shown(unanswered.after)] if unanswered else [])]
        assert stored in possible, f"after a death {died_of} in {unanswered.name if unanswered else 'nothing'}"
        if unanswered is not None:
            try:
                unanswered.run(self.client)
            except groundwire.ClientError:
                # The new server has a fault of its own, and met it.
                if self.server.fault is None:
                    raise
                self._recover(unanswered)
                return
            self.state = unanswered.after
            assert stored_state(self.client) == shown(self.state)
        if self.server.is_alive():
            check_agreement(self.client, self.state, self.server.data_dir)

    def _started(self) -> groundwire.Client:
        step = self.chance.choice(list(CommitStep))
        self.server.fault = (step, self.chance.randint(1, 6)) if self.chance.random() < FAULT_SHARE else None
        try:
            self.server.start()
        except AssertionError:
            if self.server.fault is None or self.server.is_alive():
                raise
            # What the death before left undone is done at the start, by the same steps.
            self.deaths["while recovering"] += 1
            self.server.fault = None
            self.server.start()
        client = groundwire.Client(self.server.address, timeouts=CALL_TIMEOUTS)
        if COLLECTION not in {one.name for one in client.collections()}:
            client.create_collection(COLLECTION)
        return client


def test_nothing_acknowledged_is_lost_and_nothing_deleted_is_found(
    tmp_path: Path, own_process: Callable[[ServiceProcess], ServiceProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = int(os.environ.get("GROUNDWIRE_CHAOS_SEED") or random.SystemRandom().randrange(10**6))
    sys.stdout.write(f"\nseed {seed} (GROUNDWIRE_CHAOS_SEED={seed} repeats this run)\n")
    started = time.monotonic()
    monkeypatch.chdir(tmp_path)
    tree = Path("tree")
    tree.mkdir()
    server = MortalServer(tmp_path / "server")
    own_process(server)
    run = Run(seed, server, tree)
    while sum(run.done.values()) < OPERATION_COUNT or run.deaths.total() < MIN_KILL_COUNT:
        run.step()
    run.finish()
    elapsed_s = time.monotonic() - started
    deaths = f"{run.deaths.total()} deaths {dict(run.deaths)}"
    sys.stdout.write(f"{run.done.total()} operations {dict(run.done)}; {deaths}; {elapsed_s:.0f} s\n")
    assert elapsed_s <= TIME_LIMIT_S
