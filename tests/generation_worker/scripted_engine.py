"""A generator that does what the question says, so that tests need no model and know every word.

Questions are words: `say N` yields "w1 w2 …" to N, `slowly S` waits S seconds before each, `prefill S` waits before
the first, `refuse` raises GenerationError, `break` raises something else, `wreck` raises out of the step that all
generations share, `die` ends the process as a crash would.
"""

import os
import signal
import time
from dataclasses import dataclass

from generation_worker.engine.protocol import (
    GenerationDone,
    GenerationError,
    GenerationFailed,
    KeyedStep,
    PromptPacked,
    TextPiece,
)
from groundwire.internal.v1 import job_pb2

STEP_S = 0.002


@dataclass
class Script:
    """What is left of a generation."""

    question: str
    word_count: int = 0
    each_s: float = 0.0
    due_s: float = 0.0
    said_count: int = 0
    is_packed: bool = False


class ScriptedEngine:
    """An Engine."""

    model = "scripted"
    context_tokens = 1000

    def __init__(self, slot_count: int = 1) -> None:
        self.slot_count = slot_count
        self.most_at_once = 0
        self._scripts: dict[int, Script] = {}

    @property
    def is_idle(self) -> bool:
        return not self._scripts

    def start(self, key: int, job: job_pb2.GenerationJob) -> None:
        if len(self._scripts) >= self.slot_count:
            raise RuntimeError("all slots are taken")
        words = iter(job.question.split())
        script = Script(job.question, due_s=time.monotonic())
        for word in words:
            match word:
                case "say":
                    script.word_count = int(next(words))
                case "slowly":
                    script.each_s = float(next(words))
                case "prefill":
                    script.due_s += float(next(words))
        script.due_s += script.each_s
        self._scripts[key] = script
        self.most_at_once = max(self.most_at_once, len(self._scripts))

    def stop(self, key: int) -> None:
        self._scripts.pop(key, None)

    def interrupt(self) -> None:
        """Every step is short."""

    def step(self) -> list[KeyedStep]:
        steps = [step for key, script in list(self._scripts.items()) for step in self._advance(key, script)]
        if not steps:
            time.sleep(STEP_S)
        return steps

    def _advance(self, key: int, script: Script) -> list[KeyedStep]:
        if not script.is_packed:
            script.is_packed = True
            return [(key, PromptPacked(len(script.question), ()))]
        for word in script.question.split():
            match word:
                case "refuse":
                    return self._fail(key, GenerationError("The script refuses."))
                case "break":
                    return self._fail(key, ZeroDivisionError("the script is broken"))
                case "wreck":
                    raise ZeroDivisionError("the script wrecks the step")
                case "die":
                    os.kill(os.getpid(), signal.SIGKILL)
        if time.monotonic() < script.due_s:
            return []
        if script.said_count == script.word_count:
            self.stop(key)
            return [(key, GenerationDone(script.word_count))]
        script.said_count += 1
        script.due_s += script.each_s
        return [(key, TextPiece(f"w{script.said_count} "))]

    def _fail(self, key: int, error: Exception) -> list[KeyedStep]:
        self.stop(key)
        return [(key, GenerationFailed(error))]
