"""Building the lexical index afresh, so that a stop need not wait for it.

Tantivy takes documents in faster than it indexes them, and neither a commit nor taking them back can be interrupted:
for a large collection each may last a minute. So the work has a thread of its own, which ends with the process.
"""

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress

from retrieval_server.engine.lexical.bm25 import LexicalEntry, LexicalIndex

_LOOK_INTERVAL_S = 0.1


class _RefreshStoppedError(Exception):
    """The rest of the entries is not wanted any more."""


class Refreshing:
    """Refreshes of one index, one at a time. Once one is abandoned, the index is used by nobody else any more."""

    def __init__(self, index: LexicalIndex) -> None:
        self._index = index
        self._stopping = threading.Event()
        self._changing = threading.Lock()
        self._is_abandoned = False

    @property
    def is_abandoned(self) -> bool:
        """Whether a refresh may still be at work on the index, and closes it when it ends."""
        return self._is_abandoned

    def run(self, entries: Iterable[LexicalEntry]) -> bool:
        """Replace everything by `entries`; False when `stop` came first, and then `entries` is read no further.

        What the index holds afterwards is then either what it held or all of `entries`. Raises what indexing does.
        """
        has_read = threading.Event()
        outcome: Future[None] = Future()
        work = threading.Thread(
            target=self._work, args=(entries, has_read, outcome), name="lexical-refresh", daemon=True
        )
        work.start()
        while not outcome.done():
            with self._changing:
                if self._stopping.is_set() and has_read.is_set() and not outcome.done():
                    self._is_abandoned = True
                    return False
            with suppress(TimeoutError):
                outcome.exception(_LOOK_INTERVAL_S)
        try:
            outcome.result()
        except _RefreshStoppedError:
            return False
        return True

    def stop(self) -> None:
        """Let `run` return soon, now and from now on; from any thread."""
        self._stopping.set()

    def _work(self, entries: Iterable[LexicalEntry], has_read: threading.Event, outcome: Future[None]) -> None:
        error: BaseException | None = None
        try:
            self._index.rebuild(self._until_stopped(entries, has_read))
        except BaseException as raised:  # a panic of Tantivy is no Exception; whoever waits gets it
            error = raised
        with self._changing:
            if self._is_abandoned:
                self._index.close(waits_for_merges=False)
            elif error is None:
                outcome.set_result(None)
            else:
                outcome.set_exception(error)

    def _until_stopped(self, entries: Iterable[LexicalEntry], has_read: threading.Event) -> Iterator[LexicalEntry]:
        try:
            for entry in entries:
                if self._stopping.is_set():
                    raise _RefreshStoppedError
                yield entry
        finally:
            has_read.set()
