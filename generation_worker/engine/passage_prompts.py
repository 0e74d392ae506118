"""A prompt for each passage: as many, best first, as a budget for all of them together holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from generation_worker.engine.prompt import PackedPrompt
from generation_worker.engine.protocol import GenerationError
from groundwire.v1 import passage_pb2

Pack = Callable[[Sequence[passage_pb2.Passage], int], PackedPrompt]
"""Packs passages into a prompt of at most so many tokens; raises GenerationError when the question alone is longer."""


@dataclass(frozen=True, slots=True)
class PassagePrompts:
    """One prompt for each of the first passages, and the passages, by index, that have none."""

    prompts: tuple[PackedPrompt, ...]
    dropped_passage_indexes: tuple[int, ...]


def pack_passage_prompts(
    pack: Pack, passages: Sequence[passage_pb2.Passage], *, budget_tokens: int, total_tokens: int, most: int
) -> PassagePrompts:
    """Pack at most `most` passages, each into at most `budget_tokens`, all of them into at most `total_tokens`.

    Raises:
        GenerationError: there is no passage, or not even the first one fits.
    """
    prompts: list[PackedPrompt] = []
    room_tokens = total_tokens
    for passage in passages[:most]:
        try:
            prompt = pack([passage], min(room_tokens, budget_tokens))
        except GenerationError:
            if not prompts:
                raise
            break
        if prompt.dropped_passage_indexes:
            break
        prompts.append(prompt)
        room_tokens -= len(prompt.tokens)
    if not prompts:
        raise GenerationError("No passage fits the prompt beside the question." if passages else "There is no passage.")
    return PassagePrompts(tuple(prompts), tuple(range(len(prompts), len(passages))))
