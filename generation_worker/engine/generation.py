"""What the engine knows of a generation, whatever its mode, and the plain one: one prompt, one text."""

from collections.abc import Sequence
from typing import Protocol

from generation_worker.engine.branch import Branch
from generation_worker.engine.llama_model import LlamaModel
from generation_worker.engine.protocol import GenerationDone, GenerationStep, TextPiece
from generation_worker.engine.writer import Writer


class Generation(Protocol):
    """Some branches, and what becomes of the logits that are computed in them."""

    @property
    def branches(self) -> Sequence[Branch]:
        """One for each prompt."""

    @property
    def later_tokens(self) -> int:
        """Tokens that are to be read after what the branches are given now."""

    def take(self, branch: Branch, position: int, row: int) -> Sequence[GenerationStep]:
        """Take the logits after the token number `position` of a branch: row `row` of the last batch.

        Return what there is to tell; after a GenerationDone nothing more is computed.
        """

    def close(self) -> None:
        """Free what llama.cpp holds for it."""


class OnePrompt:
    """STUFF, or no passages at all: the text that follows one prompt, told as it is written."""

    later_tokens = 0

    def __init__(self, llama: LlamaModel, branch: Branch, writer: Writer) -> None:
        self.branches = (branch,)
        self._llama = llama
        self._writer = writer

    def take(self, branch: Branch, position: int, row: int) -> Sequence[GenerationStep]:  # noqa: ARG002
        """See Generation."""
        branch.preferences.apply(self._llama.logits(row))
        return told(self._writer, self._writer.write(row), self.branches)

    def close(self) -> None:
        """See Generation."""
        self._writer.close()


def told(writer: Writer, text: str, branches: Sequence[Branch]) -> list[GenerationStep]:
    """Return what to tell after a token was chosen; all branches go on with it unless the text is over."""
    steps: list[GenerationStep] = [TextPiece(text)] if text else []
    if writer.is_over:
        return [*steps, GenerationDone(writer.completion_tokens)]
    for branch in branches:
        branch.write(writer.tokens[-1])
    return steps
