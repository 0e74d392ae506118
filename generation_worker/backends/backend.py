"""What the worker asks of whatever generates, here or elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from generation_worker.engine.protocol import Capacity, GenerationStep
from groundwire.internal.v1 import job_pb2


@dataclass(frozen=True, slots=True)
class GenerationStopped:
    """Last of a generation that was stopped; its slot is free."""


OnStep = Callable[[GenerationStep | GenerationStopped], None]


class BackendUnavailableError(Exception):
    """A backend cannot be used now; another may, and so may this one later. The message is for the caller."""


class Backend(Capacity, Protocol):
    """Generates on the event loop's side: all methods are for its thread, and so is where `on_step` is called."""

    @property
    def name(self) -> str:
        """What runs the model, as callers are told."""

    @property
    def continues_answers(self) -> bool:
        """Whether it goes on from a job's answer_start; if not, its text is the whole answer."""

    def start(self, job: job_pb2.GenerationJob, on_step: OnStep) -> int:
        """Begin a generation; return its key.

        Its steps are those of an Engine: PromptPacked unless it fails before, any number of TextPiece, and as the last
        one exactly one GenerationDone, GenerationFailed or GenerationStopped.
        """

    def stop(self, key: int) -> None:
        """End a generation soon; nothing happens when it has ended by itself."""

    async def close(self) -> None:
        """Free what it holds; nothing is said any more."""
