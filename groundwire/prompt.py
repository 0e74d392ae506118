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


def _passage_segment(number: int, passage: passage_pb2.Passage) -> Segment:
    place = " > ".join((f"{passage.path}:{passage.start_line}-{passage.end_line}", *passage.breadcrumbs))
    return Segment(f"Source [{number}] {place}\n{passage.text.rstrip()}\n\n", scaffold=False)


def prompt_segments(
    question: str, passages: Sequence[passage_pb2.Passage], *, answer_start: str = "", closed_book: bool = False
) -> list[Segment]:
    """Return the ChatML prompt, in order: instruction, the passages numbered from 1, the question, the answer's start.

    There is one segment for each passage, at positions 1 to len(passages), so that whoever packs can count each apart.
    Passages come before the question so that prompts over the same passages share their beginning. The answer's start,
    which the model goes on from, is content: it is made of the question's words. `closed_book` asks for what the model
    knows by itself.
    """
    instruction = _CLOSED_BOOK_INSTRUCTION if closed_book else _INSTRUCTION
    reminder = _CLOSED_BOOK_REMINDER if closed_book else _REMINDER
    return [
        Segment(f"<|im_start|>system\n{instruction}<|im_end|>\n<|im_start|>user\n", scaffold=True),
        *(_passage_segment(number, passage) for number, passage in enumerate(passages, start=1)),
        Segment(f"Question: {question.strip()}", scaffold=False),
        Segment(f"\n{reminder}<|im_end|>\n<|im_start|>assistant\n", scaffold=True),
        *([Segment(answer_start, scaffold=False)] if answer_start else []),
    ]
