"""Offsets of a parser, in bytes of UTF-8, to offsets of a document, in code points."""

from array import array
from bisect import bisect_left
from itertools import compress

# 1 for a byte that does not begin a code point: 10xxxxxx.
_CONTINUES = bytes(byte >> 6 == 0b10 for byte in range(256))


class CharOffsets:
    """Byte offset in UTF-8 → code point offset."""

    def __init__(self, text: str, source: bytes) -> None:
        self._continuing: array[int] | None = None
        if len(text) != len(source):
            self._continuing = array("I", compress(range(len(source)), source.translate(_CONTINUES)))

    def __getitem__(self, byte_offset: int) -> int:
        return byte_offset if self._continuing is None else byte_offset - bisect_left(self._continuing, byte_offset)
