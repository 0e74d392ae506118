"""Which passages fit a prompt, by an estimate of tokens on the safe side; the worker has the tokenizer and counts."""

from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.prompt import PromptKind, Segment, prompt_segments
from groundwire.token_estimate import estimate_tokens
from groundwire.v1 import passage_pb2


@dataclass(frozen=True, slots=True)
class PackedPrompt:
    """A prompt, an upper estimate of its tokens, and the passages, by index, that were left out of it."""

    segments: tuple[Segment, ...]
    estimated_tokens: int
    dropped_passage_indexes: tuple[int, ...]


def pack_prompt(
    question: str,
    passages: Sequence[passage_pb2.Passage],
    max_prompt_tokens: int,
    *,
    answer_start: str = "",
    closed_book: bool = False,
) -> PackedPrompt:
    """Pack as many of `passages`, in their order, as the budget is sure to hold; the rest is left out whole."""
    kind = PromptKind.CLOSED_BOOK if closed_book else PromptKind.WITH_SOURCES
    segments = prompt_segments(question, passages, answer_start=answer_start, kind=kind)
    costs = [estimate_tokens(segment.text) for segment in segments]
    passage_costs = costs[1 : 1 + len(passages)]
    token_count = sum(costs) - sum(passage_costs)
    kept_count = 0
    for cost in passage_costs:
        if token_count + cost > max_prompt_tokens:
            break
        token_count += cost
        kept_count += 1
    packed = (*segments[: 1 + kept_count], *segments[1 + len(passages) :])
    return PackedPrompt(packed, token_count, tuple(range(kept_count, len(passages))))


def pack_passage_prompts(
    question: str, passages: Sequence[passage_pb2.Passage], max_prompt_tokens: int, *, answer_start: str = ""
) -> PackedPrompt:
    """Pack each of `passages` into a prompt of its own, in order, as many as the budget is sure to hold together."""
    segments: list[Segment] = []
    token_count = kept_count = 0
    for passage in passages:
        prompt = pack_prompt(question, [passage], max_prompt_tokens - token_count, answer_start=answer_start)
        if prompt.dropped_passage_indexes:
            break
        segments += prompt.segments
        token_count += prompt.estimated_tokens
        kept_count += 1
    return PackedPrompt(tuple(segments), token_count, tuple(range(kept_count, len(passages))))
