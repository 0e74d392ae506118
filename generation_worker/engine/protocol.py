"""What the worker asks of a text generator that works on several jobs at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from groundwire.internal.v1 import job_pb2


@dataclass(frozen=True, slots=True)
class PromptPacked:
    """First of a generation: how the prompt was made. Nothing was computed yet."""

    prompt_tokens: int
    dropped_passage_indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TextPiece:
    """More text, whole code points, never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class GenerationDone:
    """Last of a generation that came to its end."""

    completion_tokens: int


@dataclass(frozen=True, slots=True)
class GenerationFailed:
    """Last of a generation that could not be done; a GenerationError is for the caller's eyes, others are faults."""

    error: Exception


GenerationStep = PromptPacked | TextPiece | GenerationDone | GenerationFailed
KeyedStep = tuple[int, GenerationStep]
"""Whose step it is, by the key that the generation was started under."""


class GenerationError(Exception):
    """The job cannot be generated, now or later; the message is for the caller."""


class Engine(Protocol):
    """A text generator with slots for several generations. All calls but one come from one thread."""

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
    def is_idle(self) -> bool:
        """Whether a step would do nothing."""

    def start(self, key: int, job: job_pb2.GenerationJob) -> None:
        """Begin a generation in a free slot; what is wrong with the job is said by a later step.

        Raises:
            RuntimeError: no slot is free.
        """

    def stop(self, key: int) -> None:
        """End a generation at once and free its slot; nothing more is said of it. Unknown keys are ignored."""

    def interrupt(self) -> None:
        """Make the step that is being computed, or else the next, end soon; what it lacks is computed again.

        The only method that may be called from any thread.
        """

    def step(self) -> Sequence[KeyedStep]:
        """Compute a little for every generation; return what came of it, in order.

        Each generation yields PromptPacked, any number of TextPiece, then GenerationDone or GenerationFailed.
        """
