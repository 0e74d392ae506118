"""The prompt that answers a question: the worker feeds it to its model, the server shows it in RenderPrompt."""

from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.v1 import passage_pb2

# Short on purpose: a model of 135M parameters follows one instruction, not a page of them.
_INSTRUCTION = "You answer questions about code and documents. Use only the given sources."
_CLOSED_BOOK_INSTRUCTION = "You answer questions about code and documents from what you know."

# What stands last is what a small model heeds most: without this it rambles, and its checks fail more often.
_REMINDER = "Answer in one short sentence, with the exact names and numbers from the sources."
_CLOSED_BOOK_REMINDER = "Answer in one short sentence."


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of a prompt.

    `scaffold` is the template's own text, whose special tokens count. Everything else is content and must be tokenised
    without special tokens, so that a document that holds `<|im_end|>` stays text.
    """

    text: str
    scaffold: bool


@dataclass(frozen=True, slots=True)
class Wording:
    """Our own words in a prompt: what the model is, before everything else, and what it is reminded of at the end."""

    instruction: str
    reminder: str


def wording(*, closed_book: bool) -> Wording:
    """Return our words for a prompt with sources, or for one without."""
    if closed_book:
        return Wording(_CLOSED_BOOK_INSTRUCTION, _CLOSED_BOOK_REMINDER)
    return Wording(_INSTRUCTION, _REMINDER)


@dataclass(frozen=True, slots=True)
class ChatFrame:
    """What stands around a prompt's content, our own words and the marks of the model's chat template."""

    head: str
    tail: str


@dataclass(frozen=True, slots=True)
class ChatFrames:
    """A model's frames, and what it ends its turn with ("" when that is not known)."""

    with_sources: ChatFrame
    closed_book: ChatFrame
    turn_end: str

    def of(self, *, closed_book: bool) -> ChatFrame:
        """Return the frame of a prompt."""
        return self.closed_book if closed_book else self.with_sources


def _chatml_frame(words: Wording) -> ChatFrame:
    return ChatFrame(
        f"<|im_start|>system\n{words.instruction}<|im_end|>\n<|im_start|>user\n",
        f"\n{words.reminder}<|im_end|>\n<|im_start|>assistant\n",
    )


CHATML = ChatFrames(
    _chatml_frame(wording(closed_book=False)), _chatml_frame(wording(closed_book=True)), turn_end="<|im_end|>"
)
"""The frames of the default generator."""


def passage_text(number: int, passage: passage_pb2.Passage) -> str:
    """Return a passage as it stands in a prompt, under its number and its place."""
    place = " > ".join((f"{passage.path}:{passage.start_line}-{passage.end_line}", *passage.breadcrumbs))
    return f"Source [{number}] {place}\n{passage.text.rstrip()}\n\n"


def question_text(question: str) -> str:
    """Return the question as it stands in a prompt."""
    return f"Question: {question.strip()}"


def prompt_segments(
    question: str,
    passages: Sequence[passage_pb2.Passage],
    *,
    answer_start: str = "",
    closed_book: bool = False,
    frames: ChatFrames = CHATML,
) -> list[Segment]:
    """Return the prompt, in order: instruction, the passages numbered from 1, the question, the answer's start.

    There is one segment for each passage, at positions 1 to len(passages), so that whoever packs can count each apart.
    Passages come before the question so that prompts over the same passages share their beginning. The answer's start,
    which the model goes on from, is content: it is made of the question's words. `closed_book` asks for what the model
    knows by itself.
    """
    frame = frames.of(closed_book=closed_book)
    return [
        Segment(frame.head, scaffold=True),
        *(Segment(passage_text(number, passage), scaffold=False) for number, passage in enumerate(passages, start=1)),
        Segment(question_text(question), scaffold=False),
        Segment(frame.tail, scaffold=True),
        *([Segment(answer_start, scaffold=False)] if answer_start else []),
    ]
