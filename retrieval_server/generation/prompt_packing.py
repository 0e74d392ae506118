"""Which passages fit a prompt, by an estimate of tokens on the safe side; the worker has the tokenizer and counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from groundwire.prompt import Segment, prompt_segments
from groundwire.v1 import passage_pb2

# Byte-level vocabularies take 3 to 4 characters of English or code a token; other scripts up to a token a byte.
_ASCII_CHARS_PER_TOKEN = 2.5


@dataclass(frozen=True, slots=True)
class PackedPrompt:
    """A prompt, an upper estimate of its tokens, and the passages, by index, that were left out of it."""

    segments: tuple[Segment, ...]
    estimated_tokens: int
    dropped_passage_indexes: tuple[int, ...]


def estimate_tokens(text: str) -> int:
    """Return an estimate of the tokens of `text` that is rather too high than too low."""
    byte_count = len(text.encode("utf-8", "surrogatepass"))
    ascii_count = byte_count if text.isascii() else sum(character < "\x80" for character in text)
    return ceil(ascii_count / _ASCII_CHARS_PER_TOKEN) + byte_count - ascii_count


def pack_prompt(
    question: str,
    passages: Sequence[passage_pb2.Passage],
    max_prompt_tokens: int,
    *,
    answer_start: str = "",
    closed_book: bool = False,
) -> PackedPrompt:
    """Pack as many of `passages`, in their order, as the budget is sure to hold; the rest is left out whole."""
    segments = prompt_segments(question, passages, answer_start=answer_start, closed_book=closed_book)
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
