"""Random changes of a corpus whose server dies of them, and what is checked after each death."""

import random
import subprocess
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import client as groundwire
from retrieval_server.corpus.files.commit_steps import CommitStep
from tests.chaos.corpus.checks import check_agreement, shown, stored_state
from tests.chaos.corpus.model import COLLECTION, Expected, Operation, Operations
from tests.chaos.corpus.mortal_server import MortalServer

KILL_SHARE = 0.15
FAULT_SHARE = 0.5
CALL_TIMEOUTS = groundwire.Timeouts(call_s=60.0)


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
        killer = self._killer() if self.chance.random() < KILL_SHARE else None
        try:
            operation.run(self.client)
        except groundwire.ClientError:
            if killer is not None:
                killer.join()
            elif self.server.fault is None:
                raise
            self._recover(operation, is_killed=killer is not None)
        else:
            self.state = operation.after
            if killer is not None:
                killer.join()
                self._recover(None, is_killed=True)

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

    def _recover(self, unanswered: Operation | None, *, is_killed: bool) -> None:
        fault = None if is_killed else self.server.fault
        died_of = f"at {fault[0].value}" if fault else "at a random moment"
        self.server.wait_for_exit()
        self.deaths[died_of] += 1
        self.client.close()
        self.client = self._started()
        try:
            self._check_recovered(unanswered, died_of)
        except groundwire.ClientError:
            # The new server has a fault of its own, and may have met it.
            if self.server.fault is None or not self._has_died():
                raise
            is_done = unanswered is None or self.state is unanswered.after
            self._recover(None if is_done else unanswered, is_killed=False)

    def _check_recovered(self, unanswered: Operation | None, died_of: str) -> None:
        stored = stored_state(self.client)
        possible = [shown(self.state), *([shown(unanswered.after)] if unanswered else [])]
        assert stored in possible, f"after a death {died_of} in {unanswered.name if unanswered else 'nothing'}"
        if unanswered is not None:
            unanswered.run(self.client)
            self.state = unanswered.after
            assert stored_state(self.client) == shown(self.state)
        check_agreement(self.client, self.state, self.server.data_dir)

    def next_fault(self) -> tuple[CommitStep, int] | None:
        """Return what the next server is to die of."""
        step = self.chance.choice(list(CommitStep))
        return (step, self.chance.randint(1, 6)) if self.chance.random() < FAULT_SHARE else None

    def _started(self) -> groundwire.Client:
        self.server.fault = self.next_fault()
        try:
            return self._ready()
        except (AssertionError, groundwire.ClientError):
            if self.server.fault is None or not self._has_died():
                raise
            # What the death before left undone is done at the start, by the same steps.
            self.deaths["while recovering"] += 1
            self.server.fault = None
            return self._ready()

    def _ready(self) -> groundwire.Client:
        self.server.start()
        client = groundwire.Client(self.server.address, timeouts=CALL_TIMEOUTS)
        try:
            if COLLECTION not in {one.name for one in client.collections()}:
                client.create_collection(COLLECTION)
        except groundwire.ClientError:
            client.close()
            raise
        return client

    def _has_died(self) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self.server.wait_for_exit()
        return not self.server.is_alive()
