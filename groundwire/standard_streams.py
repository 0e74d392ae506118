"""Standard streams that always exist, and lines on them that nobody has to be able to read."""

import io
import os
import sys
from contextlib import suppress

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def open_missing_streams() -> None:
    """Give this process the standard streams that it was started without; call it first of all.

    A socket or a database would take their numbers otherwise, and whatever a library prints would end there.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) < len(_STREAMS):
        os.set_inheritable(number, True)
    os.close(number)
    for name, mode in _STREAMS:
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - lives as long as the process


class BestEffortStream(io.TextIOBase):
    """Standard error, or nothing while that cannot be written: a full disk, a reader that has left, a closed stream.

    Nothing may fail, and nobody's job be lost, for want of the line that tells of it.
    """

    def write(self, text: str) -> int:
        """Write at once, or lose the text."""
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
        self.flush()
        return len(text)

    def flush(self) -> None:
        """Pass on what standard error still holds, if it can be."""
        with suppress(OSError, ValueError):
            sys.stderr.flush()
