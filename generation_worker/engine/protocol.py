"""What the worker asks of a text generator."""

from collections.abc import Callable, Iterator
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
    """Last of a generation that was not stopped."""

    completion_tokens: int


GenerationStep = PromptPacked | TextPiece | GenerationDone


class GenerationError(Exception):
    """The job cannot be generated, now or later; the message is for the caller."""


class Engine(Protocol):
    """A text generator. One generation at a time, all from one thread."""

    @property
    def model(self) -> str:
        """Name of the model."""

    @property
    def context_tokens(self) -> int:
        """Tokens of prompt and completion together."""

    def generate(self, job: job_pb2.GenerationJob, should_stop: Callable[[], bool]) -> Iterator[GenerationStep]:
        """Yield PromptPacked, any number of TextPiece, then GenerationDone.

        `should_stop` is asked between tokens and batches of the prompt; once it says True the iterator just ends.

        Raises:
            GenerationError: this job cannot be generated.
        """
