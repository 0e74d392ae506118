"""Offsets of a parser, in bytes of UTF-8, to offsets of a document, in code points."""

import numpy as np
from numpy.typing import NDArray


class CharOffsets:
    """Byte offset in UTF-8 → code point offset."""

    def __init__(self, text: str, source: bytes) -> None:
        self._table: NDArray[np.int64] | None = None
        if len(text) != len(source):
            # A code point begins at every byte that is not a continuation byte (10xxxxxx).
            begins = (np.frombuffer(source, dtype=np.uint8) & 0xC0) != 0x80
            self._table = np.concatenate(([0], np.cumsum(begins)))

    def __getitem__(self, byte_offset: int) -> int:
        return byte_offset if self._table is None else int(self._table[byte_offset])
