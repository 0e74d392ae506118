"""The prompt in tokens: as many passages, best first, as an exact budget holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from generation_worker.engine.protocol import GenerationError
from groundwire.prompt import ChatFrames, PromptKind, Segment, prompt_segments
from groundwire.v1 import answer_pb2, passage_pb2

_STOPS = ("<|im_end|>", "<|im_start|>", "<|endoftext|>", "\nQuestion:")
MIN_CUT_TOKENS = 64
"""A passage is not cut to fewer tokens than this: a shred of one misleads more than it tells."""


class Tokenizer(Protocol):
    """Text to tokens, in two ways that must not be confused."""

    def scaffold_tokens(self, text: str) -> list[int]:
        """Tokens of our own text: `<|im_start|>` and its like are special."""

    def content_tokens(self, text: str) -> list[int]:
        """Tokens of others' text: nothing in it is special."""

    @property
    def chat_frames(self) -> ChatFrames:
        """What the model's chat template puts around content."""


@dataclass(frozen=True, slots=True)
class PackedPrompt:
    """Tokens to compute, those of `prompt_start` first, and which passages they leave out."""

    tokens: tuple[int, ...]
    dropped_passage_indexes: tuple[int, ...]


def stops_of(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return where answers end: turns that a model writes out as text, and the next question that small ones ask."""
    return tuple(dict.fromkeys((*_STOPS, *filter(None, (tokenizer.chat_frames.turn_end,)))))


def prompt_start(tokenizer: Tokenizer) -> list[int]:
    """Return the tokens that every prompt begins with."""
    return _tokens(tokenizer, prompt_segments("", (), frames=tokenizer.chat_frames)[0])


def pack_prompt(
    tokenizer: Tokenizer,
    question: str,
    passages: Sequence[passage_pb2.Passage],
    budget_tokens: int,
    *,
    answer_start: str = "",
    kind: PromptKind = PromptKind.WITH_SOURCES,
    history: Sequence[answer_pb2.ConversationTurn] = (),
) -> PackedPrompt:
    """Pack passages, best first, until one does not fit; that one is cut if enough of it fits, the rest is dropped.

    Raises:
        GenerationError: the question alone passes the budget.
    """
    segments = prompt_segments(
        question, passages, answer_start=answer_start, kind=kind, history=history, frames=tokenizer.chat_frames
    )
    start = _tokens(tokenizer, segments[0])
    end = [token for segment in segments[1 + len(passages) :] for token in _tokens(tokenizer, segment)]
    room_tokens = budget_tokens - len(start) - len(end)
    if room_tokens < 0:
        raise GenerationError(
            f"The question alone takes {len(start) + len(end)} tokens of prompt; {budget_tokens} are allowed."
        )
    body: list[int] = []
    kept_count = 0
    for segment in segments[1 : 1 + len(passages)]:
        tokens = _tokens(tokenizer, segment)
        is_cut = len(tokens) > room_tokens
        if is_cut and room_tokens < MIN_CUT_TOKENS:
            break
        body += tokens[:room_tokens]
        room_tokens -= len(tokens[:room_tokens])
        kept_count += 1
        if is_cut:
            break
    return PackedPrompt(tuple(start + body + end), tuple(range(kept_count, len(passages))))


def _tokens(tokenizer: Tokenizer, segment: Segment) -> list[int]:
    return tokenizer.scaffold_tokens(segment.text) if segment.scaffold else tokenizer.content_tokens(segment.text)
