"""Lines of a text, whatever ends them."""

import numpy as np
from numpy.typing import NDArray

_LF, _CR = 10, 13


class LineIndex:
    """Line numbers of a text whose lines end with LF, CRLF or CR."""

    def __init__(self, text: str) -> None:
        code_points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
        ends = code_points == _LF
        if "\r" in text:
            lone = code_points == _CR
            lone[:-1] &= ~ends[1:]
            ends = ends | lone
        self._starts: NDArray[np.int64] = np.concatenate(([0], np.flatnonzero(ends) + 1))
        self._char_count = len(text)

    def line_of(self, offset: int) -> int:
        """Return the line, from 1, that holds the code point at `offset`."""
        return int(np.searchsorted(self._starts, offset, side="right"))

    @property
    def line_count(self) -> int:
        """Number of lines; the end of the last line does not begin another."""
        return len(self._starts) - (len(self._starts) > 1 and int(self._starts[-1]) == self._char_count)

    @property
    def longest_line_chars(self) -> int:
        """Code points of the longest line, its end included."""
        return int(np.diff(self._starts, append=self._char_count).max())
