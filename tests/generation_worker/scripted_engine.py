"""A generator that does what the question says, so that tests need no model and know every word.

Questions are words: `say N` yields "w1 w2 …" to N, `slowly S` waits S seconds before each, `prefill S` waits before
the first, `refuse` raises GenerationError, `break` raises something else, `die` ends the process as a crash would.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator

from generation_worker.engine.protocol import (
    GenerationDone,
    GenerationError,
    GenerationStep,
    PromptPacked,
    TextPiece,
)
from groundwire.internal.v1 import job_pb2

STEP_S = 0.005


class ScriptedEngine:
    """An Engine."""

    model = "scripted"
    context_tokens = 1000

    def generate(self, job: job_pb2.GenerationJob, should_stop: Callable[[], bool]) -> Iterator[GenerationStep]:
        words = iter(job.question.split())
        count, each_s, prefill_s = 0, 0.0, 0.0
        yield PromptPacked(len(job.question), ())
        for word in words:
            match word:
                case "say":
                    count = int(next(words))
                case "slowly":
                    each_s = float(next(words))
                case "prefill":
                    prefill_s = float(next(words))
                case "refuse":
                    raise GenerationError("The script refuses.")
                case "break":
                    raise ZeroDivisionError("the script is broken")
                case "die":
                    os.kill(os.getpid(), signal.SIGKILL)
        if _is_stopped(prefill_s, should_stop):
            return
        for number in range(1, count + 1):
            if _is_stopped(each_s, should_stop):
                return
            yield TextPiece(f"w{number} ")
        yield GenerationDone(count)


def _is_stopped(wait_s: float, should_stop: Callable[[], bool]) -> bool:
    until = time.monotonic() + wait_s
    while not should_stop():
        if time.monotonic() >= until:
            return False
        time.sleep(min(STEP_S, wait_s))
    return True
