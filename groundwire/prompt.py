"""The prompt that answers a question: the worker feeds it to its model, the server shows it in RenderPrompt."""

from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.v1 import passage_pb2

# Short on purpose: a model of 135M parameters follows one instruction, not a page of them.
_INSTRUCTION = (
    "You answer questions about code and documents. Use only the given sources. "
    "Answer first, in one or two short sentences, with the exact names and numbers of the sources. "
    'If the sources do not hold the answer, say "The sources do not say."'
)

# What stands last is what a small model heeds most: without this it rambles, and its checks fail more often.
_REMINDER = "Answer in one short sentence, with the exact names and numbers from the sources."


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of a prompt.

    `scaffold` is the template's own text, whose special tokens count. Everything else is content and must be tokenised
    without special tokens, so that a document that holds `<|im_end|>` stays text.
    """

    text: str
    scaffold: bool


def _passage_segment(number: int, passage: passage_pb2.Passage) -> Segment:
    heading = f"Source [{number}] {passage.path}:{passage.start_line}-{passage.end_line}"
    return Segment(f"{heading}\n{passage.text.rstrip()}\n\n", scaffold=False)


def prompt_segments(question: str, passages: Sequence[passage_pb2.Passage]) -> list[Segment]:
    """Return the ChatML prompt, in order: instruction, the passages numbered from 1, and the question last.

    There is one segment for each passage, at positions 1 to len(passages), so that whoever packs can count each apart.
    Passages come before the question so that prompts over the same passages share their beginning.
    """
    return [
        Segment(f"<|im_start|>system\n{_INSTRUCTION}<|im_end|>\n<|im_start|>user\n", scaffold=True),
        *(_passage_segment(number, passage) for number, passage in enumerate(passages, start=1)),
        Segment(f"Question: {question.strip()}", scaffold=False),
        Segment(f"\n{_REMINDER}<|im_end|>\n<|im_start|>assistant\n", scaffold=True),
    ]
