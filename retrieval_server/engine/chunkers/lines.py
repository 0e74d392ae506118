"""Lines of a text, whatever ends them."""

import re
from bisect import bisect_right
from itertools import accumulate, pairwise

_LONE_CR = re.compile(r"\r(?!\n)")


def with_line_feeds(text: str) -> str:
    """Return `text`, as long as before, with LF wherever CR alone ends a line: parsers take that for a space."""
    return _LONE_CR.sub("\n", text) if "\r" in text else text


class LineIndex:
    """Line numbers of a text whose lines end with LF, CRLF or CR."""

    def __init__(self, text: str) -> None:
        self._char_count = len(text)
        if "\r" in text:  # with LF alone at the ends, every line begins where it did
            text = text.replace("\r\n", " \n").replace("\r", "\n")
        *self._starts, _ = accumulate((len(line) + 1 for line in text.split("\n")), initial=0)

    def line_of(self, offset: int) -> int:
        """Return the line, from 1, that holds the code point at `offset`."""
        return bisect_right(self._starts, offset)

    @property
    def line_count(self) -> int:
        """Number of lines; the end of the last line does not begin another."""
        return len(self._starts) - (len(self._starts) > 1 and self._starts[-1] == self._char_count)

    @property
    def longest_line_chars(self) -> int:
        """Code points of the longest line, its end included."""
        return max(end - start for start, end in pairwise((*self._starts, self._char_count)))
