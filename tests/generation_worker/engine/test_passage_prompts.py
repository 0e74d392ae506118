"""How many passages get a prompt of their own, with tokens of one character each."""

from collections.abc import Sequence

import pytest

from generation_worker.engine.passage_prompts import pack_passage_prompts
from generation_worker.engine.prompt import PackedPrompt
from generation_worker.engine.protocol import GenerationError
from groundwire.v1 import passage_pb2

QUESTION_TOKENS = 5


def passages(*lengths: int) -> list[passage_pb2.Passage]:
    return [passage_pb2.Passage(text="x" * length) for length in lengths]


def pack(of: Sequence[passage_pb2.Passage], budget_tokens: int) -> PackedPrompt:
    if budget_tokens < QUESTION_TOKENS:
        raise GenerationError("the question alone")
    tokens = sum(len(one.text) for one in of) + QUESTION_TOKENS
    return PackedPrompt((0,) * tokens, ()) if tokens <= budget_tokens else PackedPrompt((0,) * QUESTION_TOKENS, (0,))


@pytest.mark.parametrize(
    ("budget_tokens", "total_tokens", "most", "kept"),
    [
        (100, 1000, 8, 4),
        (100, 1000, 2, 2),  # more prompts than the engine takes
        (100, 60, 8, 3),  # 15 + 25 + 15 of 60: the fourth is too much
        (20, 1000, 8, 1),  # the second alone is longer than a context
        (100, 57, 8, 3),  # what is left does not even hold the question
    ],
)
def test_the_best_passages_are_kept_and_the_rest_is_named(
    budget_tokens: int, total_tokens: int, most: int, kept: int
) -> None:
    packed = pack_passage_prompts(
        pack, passages(10, 20, 10, 10), budget_tokens=budget_tokens, total_tokens=total_tokens, most=most
    )
    assert len(packed.prompts) == kept
    assert packed.dropped_passage_indexes == tuple(range(kept, 4))
    assert sum(len(one.tokens) for one in packed.prompts) <= total_tokens


@pytest.mark.parametrize(
    ("of", "total_tokens", "why"),
    [(passages(), 100, "no passage"), (passages(10), 12, "No passage fits"), (passages(10), 3, "question alone")],
)
def test_without_a_single_prompt_it_says_why(of: list[passage_pb2.Passage], total_tokens: int, why: str) -> None:
    with pytest.raises(GenerationError, match=why):
        pack_passage_prompts(pack, of, budget_tokens=100, total_tokens=total_tokens, most=8)
