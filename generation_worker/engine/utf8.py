"""Bytes from a model, where a character may be split over tokens, to text."""

import codecs


class Utf8Splitter:
    """Gives out whole code points only; bytes that are no UTF-8 become U+FFFD."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, piece: bytes) -> str:
        """Return what is complete by now."""
        return self._decoder.decode(piece)

    def finish(self) -> str:
        """Return what remained; an incomplete character becomes U+FFFD."""
        return self._decoder.decode(b"", final=True)
