"""A generator that does what the question says, so that tests need no model and know every word.

Questions are words: `say N` yields "w1 w2 …" to N, `slowly S` waits S seconds before each, `prefill S` waits before
the first, `wide N` takes N slots, `refuse` raises GenerationError, `break` raises something else, `wreck` raises out of
the step that all generations share, `die` ends the process as a crash would.
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
from groundwire.v1 import answer_pb2

STEP_S = 0.002


@dataclass
class Script:
    """What is left of a generation."""

    question: str
    slots: int
    word_count: int = 0
    each_s: float = 0.0
    due_s: float = 0.0
    said_count: int = 0
    is_packed: bool = False


class ScriptedEngine:
    """An Engine."""

    model = "scripted"
    identity = "scripted"
    context_tokens = 1000
    modes = (answer_pb2.ANSWER_MODE_STUFF,)

    def __init__(self, slot_count: int = 1) -> None:
        self.slot_count = slot_count
        self.most_at_once = 0
        self._scripts: dict[int, Script] = {}
        self._waiting: list[tuple[int, job_pb2.GenerationJob]] = []

    @property
    def is_idle(self) -> bool:
        return not self._scripts

    def slots_for(self, job: job_pb2.GenerationJob) -> int:
        _, is_wide, rest = job.question.partition("wide ")
        return int(rest.split()[0]) if is_wide else 1

    def start(self, key: int, job: job_pb2.GenerationJob) -> None:
        self._waiting.append((key, job))
        self._admit()

    def _admit(self) -> None:
        while self._waiting:
            key, job = self._waiting[0]
            slots = self.slots_for(job)
            if sum(script.slots for script in self._scripts.values()) + slots > self.slot_count:
                return
            self._waiting.pop(0)
            self._begin(key, job, slots)

    def _begin(self, key: int, job: job_pb2.GenerationJob, slots: int) -> None:
        words = iter(job.question.split())
        script = Script(job.question, slots, due_s=time.monotonic())
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
        self._waiting = [(of, job) for of, job in self._waiting if of != key]
        self._admit()

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
