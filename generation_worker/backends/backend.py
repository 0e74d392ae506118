"""What the worker asks of whatever generates, here or elsewhere."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from generation_worker.engine.protocol import GenerationStep
from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2


@dataclass(frozen=True, slots=True)
class GenerationStopped:
    """Last of a generation that was stopped; its slot is free."""


OnStep = Callable[[GenerationStep | GenerationStopped], None]


class BackendUnavailableError(Exception):
    """A backend cannot be used now; another may, and so may this one later. The message is for the caller."""


class Backend(Protocol):
    """Generates on the event loop's side: all methods are for its thread, and so is where `on_step` is called."""

    @property
    def name(self) -> str:
        """What runs the model, as callers are told."""

    @property
    def model(self) -> str:
        """Name of the model."""

    @property
    def context_tokens(self) -> int:
        """Tokens of prompt and completion together, of each generation."""

    @property
    def slot_count(self) -> int:
        """Generations that go on at once."""

    @property
    def modes(self) -> Collection[answer_pb2.AnswerMode.ValueType]:
        """The modes it can work in."""

    @property
    def continues_answers(self) -> bool:
        """Whether it goes on from a job's answer_start; if not, its text is the whole answer."""

    def slots_for(self, job: job_pb2.GenerationJob) -> int:
        """Return how many slots a job takes, at most; never more than there are."""

    def start(self, job: job_pb2.GenerationJob, on_step: OnStep) -> int:
        """Begin a generation; return its key.

        Its steps are those of an Engine: PromptPacked unless it fails before, any number of TextPiece, and as the last
        one exactly one GenerationDone, GenerationFailed or GenerationStopped.
        """

    def stop(self, key: int) -> None:
        """End a generation soon; nothing happens when it has ended by itself."""

    async def close(self) -> None:
        """Free what it holds; nothing is said any more."""
