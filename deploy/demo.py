"""`make demo`: everything at once on free ports and a temporary data directory, shown and checked, then stopped.

Exits with 0 only when each step did what it promises: indexed, all vectors computed, a search explained, an answer
whose every citation stands in the file, and an honest refusal of a question that the corpus cannot answer.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import client
from deploy.machine import Machine
from deploy.one_machine import StopRequest, say
from deploy.plan import StartupError, plan_from_environment

PROJECT_DIR = Path(__file__).resolve().parents[1]
CLIENT_TIMEOUT_S = 240.0
_POLL_S = 0.05
SEARCH = "How are expired leases of a generation job taken over?"
ANSWERABLE = "How long may a visiting boat stay at the guest pontoon?"
OFF_TOPIC = "Which enzyme splits lactose in mammals?"


class DemoError(Exception):
    """A step did not do what it promises."""


def main() -> int:
    """Run the demonstration; 0 when all of it worked."""
    stop = StopRequest()
    with tempfile.TemporaryDirectory(prefix="groundwire-demo-") as scratch:
        # A port of its own for Valkey, too: somebody else's may be running here.
        environment = {"GROUNDWIRE_LISTEN": "127.0.0.1:0", "GROUNDWIRE_REDIS_URL": "redis://127.0.0.1:0"}
        machine = None
        try:
            plan = plan_from_environment(environment | {"GROUNDWIRE_DATA_DIR": f"{scratch}/data"})
            machine = Machine(plan)
            _heading(f"Starting Valkey, server and worker on free ports, data in {scratch}")
            machine.start()
            for _ in machine.wait_ready():
                _check_stop(stop)
            say(f"ready on {plan.listen}")
            with _Pumping(machine):
                demonstrate(plan.listen, stop)
        except (StartupError, DemoError, client.ClientError) as problem:
            sys.stderr.write(f"make demo: {problem}\n")
            return 1
        finally:
            if machine is not None:
                _heading("Stopping worker, server and Valkey")
                for _ in machine.stop(lambda: stop.asked_again):
                    pass
                machine.close()
    say("\nAll of it worked. `make up` runs it for real; README.md says how to go on.")
    return 0


def demonstrate(address: str, stop: StopRequest) -> None:
    """All steps against a running server; DemoError when one falls short."""
    _heading("Index this project's own tree, and the example corpus as a collection of its own")
    # This very file holds the question, and would be found first.
    _run_client(stop, address, "index", ".", "--collection", "groundwire", "--exclude", "/deploy/demo.py", "--wait")
    _run_client(stop, address, "index", "examples/harbour", "--collection", "harbour", "--wait")
    _heading("Search, with what each list said of every passage")
    _run_client(stop, address, "search", SEARCH, "--collection", "groundwire", "-k", "3", "--explain")
    with client.Client(address) as server:
        check_search(server)
        _heading("Answer, streamed, with sources")
        request_id = "demo-answer"
        _run_client(
            stop, address, "answer", ANSWERABLE, "--collection", "harbour", "-k", "3", "--keep", "--id", request_id
        )
        check_answer(server, request_id)
        _heading("A question that the corpus cannot answer")
        _run_client(stop, address, "answer", OFF_TOPIC, "--collection", "harbour")
        check_refusal(server)


def check_search(server: client.Client) -> None:
    """Both lists took part, and every passage is explained."""
    result = server.retrieve(SEARCH, collection="groundwire", k=3, explain=True)
    lists = {one.list for passage in result.passages for one in passage.list_scores if one.rank}
    if result.dense_coverage < 1 or lists != {"bm25", "dense"}:
        raise DemoError(f"the search was not hybrid: {sorted(lists)}, {result.dense_coverage:.0%} of the vectors")


def check_answer(server: client.Client, request_id: str) -> None:
    """The answer that was just shown cites text that stands in the files at the lines that it names."""
    with server.attach_answer(request_id) as events:
        terminal = [event for event in events if isinstance(event, client.AnswerFinished)]
    if len(terminal) != 1 or terminal[0].result.state is not client.AnswerState.ANSWERED:
        raise DemoError(f"the answer did not end well: {terminal}")
    if not terminal[0].result.citations:
        raise DemoError("the answer cites nothing")
    for citation in terminal[0].result.citations:
        text = (PROJECT_DIR / citation.path).read_text(encoding="utf-8")
        first_line = text.count("\n", 0, citation.start_char) + 1
        if text[citation.start_char : citation.end_char] != citation.text or first_line != citation.start_line:
            raise DemoError(f"{citation.path}:{citation.start_line} does not hold what the answer cites")


def check_refusal(server: client.Client) -> None:
    """Nothing is made up where the corpus holds nothing."""
    result = server.answer(OFF_TOPIC, collection="harbour")
    if result.state is not client.AnswerState.SKIPPED:
        raise DemoError(f"the off-topic question was answered: {result.text!r}")


class _Pumping:
    """Keeps following the processes while the main thread waits for the client."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(0.5):
            self._machine.pump()


def _run_client(stop: StopRequest, address: str, *arguments: str) -> None:
    """Show the command and what it prints, as it prints it."""
    _check_stop(stop)
    shown = " ".join(f'"{argument}"' if " " in argument else argument for argument in arguments)
    say(f"\n$ client --server {address} {shown}")
    command = [os.fspath(Path(sys.executable).parent / "client"), "--server", address, *arguments]
    deadline_s = time.monotonic() + CLIENT_TIMEOUT_S
    with subprocess.Popen(command, cwd=PROJECT_DIR, stdin=subprocess.DEVNULL) as running:
        while running.poll() is None:
            if stop.asked.wait(_POLL_S) or time.monotonic() > deadline_s:
                running.terminate()
                running.wait()
    _check_stop(stop)
    if running.returncode != 0:
        raise DemoError(f"client {arguments[0]} ended with {running.returncode} (it may take {CLIENT_TIMEOUT_S:.0f} s)")


def _check_stop(stop: StopRequest) -> None:
    if stop.asked.is_set():
        raise DemoError("stopped before its end")


def _heading(text: str) -> None:
    say(f"\n== {text}")


if __name__ == "__main__":
    sys.exit(main())
