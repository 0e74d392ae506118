"""Being told to stop before the worker takes over."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class Starting:
    """Ends the process in silence at SIGTERM or SIGINT: it has taken no job yet, so there is nothing to hand back.

    While a model loads, the signal is only noted: an exception that begins in a callback of llama.cpp is lost there,
    and the process would go on as if nobody had told it to stop.
    """

    def __init__(self) -> None:
        self._is_loading = False
        self._is_stopped = False
        for stop_signal in (signal.SIGTERM, signal.SIGINT):
            signal.signal(stop_signal, self._stop)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Hold the end back until the block ends."""
        self._is_loading = True
        yield
        self._is_loading = False
        if self._is_stopped:
            sys.exit(0)

    def _stop(self, *_: object) -> None:
        self._is_stopped = True
        if not self._is_loading:
            sys.exit(0)
