"""One sequence of a generation: what is computed in its slot, and what is to be computed there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from generation_worker.decoding.preferences import Preferences
from generation_worker.engine.llama_model import LlamaModel, Row
from generation_worker.engine.prefill_turns import MIN_SHARE_TOKENS
from generation_worker.engine.slots import Slot


@dataclass(slots=True, eq=False)
class Branch:
    """A prompt in a slot and what goes on after it.

    `tokens` are those to compute. The first `given_tokens` of them are known beforehand and read in pieces; what comes
    after them is chosen, one token at a time.
    """

    slot: Slot
    tokens: list[int]
    prompt_tokens: int
    given_tokens: int
    preferences: Preferences

    @property
    def unread_tokens(self) -> int:
        """Tokens that are yet to be computed."""
        return len(self.tokens) - len(self.slot.tokens)

    @property
    def is_reading(self) -> bool:
        """Whether some of what is given is yet to be computed."""
        return len(self.slot.tokens) < self.given_tokens

    @property
    def is_writing(self) -> bool:
        """Whether a chosen token is yet to be computed; what waits for its siblings neither reads nor writes."""
        return self.unread_tokens > 0 and not self.is_reading

    def next_rows(self, count: int) -> list[Row]:
        """Return the next `count` tokens to compute; after the prompt's last one and all later ones logits are due."""
        begin = len(self.slot.tokens)
        return [
            Row(self.tokens[position], position, self.slot.sequence, wants_next=position >= self.prompt_tokens - 1)
            for position in range(begin, begin + count)
        ]

    def write(self, token: int) -> None:
        """Go on with a token that was chosen."""
        self.tokens.append(token)
        self.preferences.accept(token)

    def read_after_prompt(self, llama: LlamaModel, continuation: Sequence[int]) -> None:
        """Forget what came after the prompt; `continuation` is to be read there instead.

        The prompt's end is read again, with it: for the logits after it, and since nothing is read token by token.
        """
        kept = self.prompt_tokens - MIN_SHARE_TOKENS
        llama.keep_only(self.slot.sequence, kept)
        del self.slot.tokens[kept:]
        self.tokens[self.prompt_tokens :] = continuation
        self.given_tokens = len(self.tokens)
        self.preferences.restart()


def shared_out(branches: Sequence[Branch], count: int) -> Iterator[tuple[Branch, int]]:
    """Yield which of the branches that read read how many of `count` tokens: one after the other, never one alone."""
    for branch in branches:
        part = min(branch.unread_tokens, count)
        if branch.unread_tokens - part in range(1, MIN_SHARE_TOKENS):
            part = branch.unread_tokens - MIN_SHARE_TOKENS
        if part < MIN_SHARE_TOKENS:
            return
        count -= part
        yield branch, part
