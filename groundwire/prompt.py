"""The prompts of jobs: the worker feeds them to its model, the server shows that of an answer in RenderPrompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2, passage_pb2


class PromptKind(Enum):
    """What a prompt is for: to answer from sources or without any, or to make a question stand by itself."""

    WITH_SOURCES = "with_sources"
    CLOSED_BOOK = "closed_book"
    CONDENSING = "condensing"


def prompt_kind(job: job_pb2.GenerationJob) -> PromptKind:
    """Return what the prompt of a job is for."""
    if job.HasField("condensing"):
        return PromptKind.CONDENSING
    return PromptKind.CLOSED_BOOK if job.closed_book else PromptKind.WITH_SOURCES


# Short on purpose: a model of 135M parameters follows one instruction, not a page of them.
_INSTRUCTION = "You answer questions about code and documents. Use only the given sources."
_CLOSED_BOOK_INSTRUCTION = "You answer questions about code and documents from what you know."
_CONDENSING_INSTRUCTION = (
    "You rewrite the last question of a conversation so that it can be understood without the rest."
)

# What stands last is what a small model heeds most: without this it rambles, and its checks fail more often.
_REMINDER = "Answer in one short sentence, with the exact names and numbers from the sources."
_CLOSED_BOOK_REMINDER = "Answer in one short sentence."
_CONDENSING_REMINDER = (
    "Do not answer it. Write the last question as one direct question that says everything by itself, with the exact"
    " names and numbers from the conversation, and without greetings."
)


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


_WORDINGS = {
    PromptKind.WITH_SOURCES: Wording(_INSTRUCTION, _REMINDER),
    PromptKind.CLOSED_BOOK: Wording(_CLOSED_BOOK_INSTRUCTION, _CLOSED_BOOK_REMINDER),
    PromptKind.CONDENSING: Wording(_CONDENSING_INSTRUCTION, _CONDENSING_REMINDER),
}


def wording(kind: PromptKind) -> Wording:
    """Return our words for a prompt."""
    return _WORDINGS[kind]


@dataclass(frozen=True, slots=True)
class ChatFrame:
    """What stands around a prompt's content, our own words and the marks of the model's chat template."""

    head: str
    tail: str


@dataclass(frozen=True, slots=True)
class ChatFrames:
    """A model's frames, one for each kind of prompt, and what it ends its turn with ("" when that is not known)."""

    of_kind: Mapping[PromptKind, ChatFrame]
    turn_end: str


def _chatml_frame(words: Wording) -> ChatFrame:
    return ChatFrame(
        f"<|im_start|>system\n{words.instruction}<|im_end|>\n<|im_start|>user\n",
        f"\n{words.reminder}<|im_end|>\n<|im_start|>assistant\n",
    )


CHATML = ChatFrames({kind: _chatml_frame(wording(kind)) for kind in PromptKind}, turn_end="<|im_end|>")
"""The frames of the default generator."""


def passage_text(number: int, passage: passage_pb2.Passage) -> str:
    """Return a passage as it stands in a prompt, under its number and its place."""
    place = " > ".join((f"{passage.path}:{passage.start_line}-{passage.end_line}", *passage.breadcrumbs))
    return f"Source [{number}] {place}\n{passage.text.rstrip()}\n\n"


def question_text(question: str, history: Sequence[answer_pb2.ConversationTurn] = ()) -> str:
    """Return the question as it stands in a prompt, behind the turns before it, oldest first."""
    turns = [f"Question: {turn.question.strip()}\nAnswer: {turn.answer.strip()}\n" for turn in history]
    return f"{''.join(turns)}Question: {question.strip()}"


def prompt_segments(
    question: str,
    passages: Sequence[passage_pb2.Passage],
    *,
    answer_start: str = "",
    kind: PromptKind = PromptKind.WITH_SOURCES,
    history: Sequence[answer_pb2.ConversationTurn] = (),
    frames: ChatFrames = CHATML,
) -> list[Segment]:
    """Return the prompt, in order: instruction, the passages numbered from 1, the question, the answer's start.

    There is one segment for each passage, at positions 1 to len(passages), so that whoever packs can count each apart.
    Passages come before the question so that prompts over the same passages share their beginning. The answer's start,
    which the model goes on from, is content: it is made of the question's words. `history` goes with the question.
    """
    frame = frames.of_kind[kind]
    return [
        Segment(frame.head, scaffold=True),
        *(Segment(passage_text(number, passage), scaffold=False) for number, passage in enumerate(passages, start=1)),
        Segment(question_text(question, history), scaffold=False),
        Segment(frame.tail, scaffold=True),
        *([Segment(answer_start, scaffold=False)] if answer_start else []),
    ]
