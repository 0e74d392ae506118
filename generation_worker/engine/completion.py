"""The text side of a generation: from tokens to what is shown, and when it is over."""

from generation_worker.engine.repetition import is_looping
from generation_worker.engine.text_filter import TextFilter
from generation_worker.engine.utf8 import Utf8Splitter


class Completion:
    """Takes the tokens of one generation as they come."""

    def __init__(self, max_tokens: int, stops: tuple[str, ...]) -> None:
        self._max_tokens = max_tokens
        self._splitter = Utf8Splitter()
        self._filter = TextFilter(stops)
        self._tokens: list[int] = []

    @property
    def token_count(self) -> int:
        """Tokens so far."""
        return len(self._tokens)

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached, a stop string was met, or it goes round in circles."""
        return self._filter.is_stopped or len(self._tokens) >= self._max_tokens or is_looping(self._tokens)

    def feed(self, token: int, piece: bytes) -> str:
        """Return the text that may be shown by now."""
        self._tokens.append(token)
        return self._filter.feed(self._splitter.feed(piece))

    def finish(self) -> str:
        """Return the rest of the text."""
        return self._filter.feed(self._splitter.finish()) + self._filter.finish()
