"""What is changed in a model's logits before anything is made of them: copying gains, what was just said loses.

With it a model is the generator p(y_i|x,z,y_<i) that every mode works with: the likeliest token, a drawn one, a mixture
over passages and the score of a whole text all come from the same distribution.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from generation_worker.decoding.copying import CopyBonus

REPEAT_PENALTY = 1.1
REPEAT_WINDOW_TOKENS = 64


class Preferences:
    """Follows one text under one prompt."""

    def __init__(self, copying: CopyBonus | None = None) -> None:
        """`copying` favours what stands in the prompt's passages."""
        self._copying = copying
        self._last: deque[int] = deque(maxlen=REPEAT_WINDOW_TOKENS)

    def apply(self, logits: NDArray[np.float32]) -> None:
        """Change the logits of the next token, (vocabulary,), in place.

        The last tokens are divided by the penalty where they are above 0, multiplied where not (Keskar et al. 2019,
        arXiv:1909.05858, 4.1).
        """
        if self._copying is not None:
            gains = self._copying.gains()
            logits[list(gains)] += np.fromiter(gains.values(), np.float32, len(gains))
        if self._last:
            tokens = list(set(self._last))
            said = logits[tokens]
            logits[tokens] = np.where(said > 0, said / np.float32(REPEAT_PENALTY), said * np.float32(REPEAT_PENALTY))

    def accept(self, token: int) -> None:
        """Take note of the next token."""
        self._last.append(token)
        if self._copying is not None:
            self._copying.accept(token)

    def restart(self) -> None:
        """Forget the text; another one begins."""
        self._last.clear()
        if self._copying is not None:
            self._copying.restart()
