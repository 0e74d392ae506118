"""What the worker asks of a text generator that works on several jobs at once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2


@dataclass(frozen=True, slots=True)
class PromptPacked:
    """First of a generation: how its prompt, or all of its prompts, were made. Nothing was computed yet."""

    prompt_tokens: int
    dropped_passage_indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TextPiece:
    """More text, whole code points, never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class PassageWeight:
    """Probability that a passage is the one to answer from, before and after the answer is known."""

    prior: float
    posterior: float
    wrote_answer: bool = False


@dataclass(frozen=True, slots=True)
class GenerationDone:
    """Last of a generation that came to its end; `weights` are of the passages that each had a prompt, in order.

    `prompt_tokens` is set where their number is known at the end alone.
    """

    completion_tokens: int
    weights: tuple[PassageWeight, ...] = ()
    prompt_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class GenerationFailed:
    """Last of a generation that could not be done; a GenerationError is for the caller's eyes, others are faults."""

    error: Exception


GenerationStep = PromptPacked | TextPiece | GenerationDone | GenerationFailed
KeyedStep = tuple[int, GenerationStep]
"""Whose step it is, by the key that the generation was started under."""


class GenerationError(Exception):
    """The job cannot be generated, now or later; the message is for the caller."""


class ModeNotSupportedError(GenerationError):
    """Nothing here works in the job's mode; another mode would do."""


class Capacity(Protocol):
    """What a generator can do, and how much of it at once. May be asked from any thread."""

    @property
    def model(self) -> str:
        """Name of the model."""

    @property
    def identity(self) -> str:
        """What decides its words besides a job, as a hash; equal where the same model is set up the same way."""

    @property
    def context_tokens(self) -> int:
        """Tokens of prompt and completion together, of each generation."""

    @property
    def slot_count(self) -> int:
        """Generations that go on at once."""

    @property
    def modes(self) -> Collection[answer_pb2.AnswerMode.ValueType]:
        """The modes it can work in; RAG_SEQUENCE and RAG_TOKEN take probabilities of all tokens."""

    def slots_for(self, job: job_pb2.GenerationJob) -> int:
        """Return how many slots a job takes, at most; never more than there are."""


class Engine(Capacity, Protocol):
    """A text generator with slots for several generations. Calls come from one thread, unless they say otherwise."""

    @property
    def is_idle(self) -> bool:
        """Whether a step would do nothing."""

    def start(self, key: int, job: job_pb2.GenerationJob) -> None:
        """Begin a generation, once the slots that it takes are free; what is wrong with the job a later step says."""

    def stop(self, key: int) -> None:
        """End a generation at once and free its slot; nothing more is said of it. Unknown keys are ignored."""

    def interrupt(self) -> None:
        """Make the step that is being computed, or else the next, end soon; what it lacks is computed again.

        May be called from any thread.
        """

    def step(self) -> Sequence[KeyedStep]:
        """Compute a little for every generation; return what came of it, in order.

        Each generation yields PromptPacked, any number of TextPiece, then GenerationDone or GenerationFailed.
        """
