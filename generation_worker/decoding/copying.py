"""A bonus for copying: tokens that go on with a span of the sources, or begin one of their words, gain some logits.

A small model knows the names and numbers of the sources poorly and invents others; with the bonus it says what stands
there whenever it does not clearly want something else. Related to copy mechanisms (Gu et al. 2016, arXiv:1603.06393),
without training.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

# Beginning to copy is favoured less than going on.
_START_SHARE = 0.5


class CopyBonus:
    """Follows one generation: which tokens gain how much next."""

    def __init__(self, sources: Sequence[Sequence[int]], piece: Callable[[int], bytes], bonus: float) -> None:
        """`sources` are the tokens of each source, `piece` gives the bytes of a token, `bonus` is in logits."""
        self._bonus = bonus
        self._next: list[int | None] = []
        self._places: defaultdict[int, list[int]] = defaultdict(list)
        for source in sources:
            for place, token in enumerate(source):
                self._places[token].append(len(self._next))
                self._next.append(source[place + 1] if place + 1 < len(source) else None)
        self._starts = {
            token: bonus * _START_SHARE
            for token in self._places
            if (text := piece(token)).startswith(b" ") and text.strip()
        }
        self._copied: list[int] = []

    def gains(self) -> Mapping[int, float]:
        """Return what each favoured token gains now, in logits."""
        going_on = {following: self._bonus for place in self._copied if (following := self._next[place]) is not None}
        return self._starts | going_on

    def restart(self) -> None:
        """Forget what was chosen; another generation over the same sources begins."""
        self._copied = []

    def accept(self, token: int) -> None:
        """Take note of the token that was chosen."""
        going_on = [place + 1 for place in self._copied if self._next[place] == token]
        self._copied = going_on or self._places.get(token, [])
