"""The nouns of condensing: by what a question was made one that stands by itself, and what a model reads for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from retrieval_server.errors import Reason
from retrieval_server.generation.questions.conversation import Turn

MAX_TYPED_CHARS = 1000
"""A longer text is no question to be put into one sentence."""
_MAX_TURNS = 4
_MAX_TURN_CHARS = 400


class CondensingMethod(Enum):
    """By what a question is condensed."""

    RULE = "rule"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Condensing:
    """How a question was condensed; `fallback_reason` says why by rule although a model was asked."""

    method: CondensingMethod = CondensingMethod.RULE
    fallback_reason: Reason.ValueType | None = None
    fallback_message: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A question as it was typed, and the turns before it, oldest first."""

    typed: str
    history: tuple[Turn, ...] = ()

    def end(self) -> "Conversation":
        """Return the part that a model reads: the last turns, each text on one line and cut."""
        last = self.history[-_MAX_TURNS:]
        return Conversation(_one_line(self.typed, MAX_TYPED_CHARS), tuple(map(_cut, last)))

    def texts(self) -> Sequence[str]:
        """Return all that was said."""
        return [self.typed, *(text for turn in self.history for text in (turn.question, turn.answer))]


def _cut(turn: Turn) -> Turn:
    return Turn(_one_line(turn.question, _MAX_TURN_CHARS), _one_line(turn.answer, _MAX_TURN_CHARS))


def _one_line(text: str, most_chars: int) -> str:
    # A line break would let a text pass for another turn.
    return " ".join(text[:most_chars].split())
