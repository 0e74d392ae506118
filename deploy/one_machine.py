"""`make up`: Valkey, retrieval server and generation worker on this machine, supervised, until Ctrl-C.

Settings are those of the processes themselves: GROUNDWIRE_LISTEN (port 0 takes a free one), GROUNDWIRE_DATA_DIR,
GROUNDWIRE_MODELS_DIR, GROUNDWIRE_REDIS_URL (a loopback port for the embedded Valkey).
"""

import os
import signal
import sys
import threading
from collections.abc import Iterable
from types import FrameType

from deploy.log_view import render_line
from deploy.machine import Machine
from deploy.plan import DEFAULT_LISTEN, Plan, StartupError, claim_data_dir, plan_from_environment
from deploy.supervisor_config import VALKEY
from groundwire.standard_streams import open_missing_streams

_PUMP_S = 0.2


class StopRequest:
    """What the signals ask for: once, a drain; twice, an end."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.asked_again = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.asked_again = self.asked.is_set()
        self.asked.set()


def say(text: str) -> None:
    """One line to the operator, lost where it cannot be written: a full disk ends nothing that runs."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError:
        return


def show(lines: Iterable[tuple[str, str]]) -> None:
    """Log lines for people. Of Valkey's own only warnings ("#") are shown, without its advice on the kernel."""
    coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    for program, line in lines:
        if program == VALKEY and (" # " not in line or " # WARNING" in line):
            continue
        say(render_line(program, line, coloured=coloured))


def ready_line(plan: Plan) -> str:
    """Where it listens and what to do next."""
    server = "" if plan.listen == DEFAULT_LISTEN else f" --server {plan.listen}"
    client = f".venv/bin/client{server}"
    return (
        f"groundwire is ready on {plan.listen} (Ctrl-C drains and stops it). Next, in another terminal:"
        f' {client} index PATH, then {client} search "a question" or {client} answer "a question"'
    )


def run(plan: Plan, stop: StopRequest) -> int:
    """Start, show the logs until asked to stop, drain; the exit code."""
    machine = Machine(plan)
    status = 0
    try:
        say(
            f"starting Valkey (port {plan.valkey_port}), server ({plan.cores.encoder_thread_count} encoder threads) and"
            f" worker ({plan.cores.worker_thread_count} threads); data and raw logs in {plan.data_dir}"
        )
        machine.start()
        for line in machine.wait_ready():
            show([line])
            if stop.asked.is_set():
                break
        else:
            say(ready_line(plan))
        while not stop.asked.wait(_PUMP_S):
            show(machine.pump())
            machine.check_supervisor()
    except StartupError as problem:
        status = _complain(problem)
    except BrokenPipeError:
        # Whoever read the logs has gone; stop in silence.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
        status = 1
    try:
        if status == 0:
            say("stopping worker, server and Valkey in this order (Ctrl-C again ends them at once)")
        for line in machine.stop(lambda: stop.asked_again):
            show([line])
    finally:
        machine.close()
    if status == 0:
        say("stopped")
    return status


def main() -> int:
    """Run until a signal; 0 after a drain, 2 when nothing could start."""
    open_missing_streams()
    stop = StopRequest()
    try:
        plan = plan_from_environment(os.environ)
        with claim_data_dir(plan.data_dir):
            return run(plan, stop)
    except StartupError as problem:
        return _complain(problem)


def _complain(problem: StartupError) -> int:
    sys.stderr.write(f"make up: {problem}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
