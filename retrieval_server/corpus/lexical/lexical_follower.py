"""The lexical index as it follows the database: what it reflects is known, and what cannot be opened is made again."""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from groundwire.v1 import error_pb2
from retrieval_server.corpus.documents.changes import CommittedChange
from retrieval_server.corpus.files.commit_steps import CommitStep, passed
from retrieval_server.corpus.files.layout import LEXICAL, LEXICAL_SEGMENTS, LEXICAL_STATE
from retrieval_server.corpus.lexical.guarded_view import GuardedView
from retrieval_server.corpus.lexical.lexical_state import LexicalState
from retrieval_server.corpus.lexical.panics import panics_as_errors
from retrieval_server.corpus.lexical.refreshing import Refreshing
from retrieval_server.engine.lexical.bm25 import LexicalEntry, LexicalIndex, LexicalView
from retrieval_server.errors import GroundwireError

_LOCK_ERROR = "LockBusy"
_LOCK_PATIENCE_S = 60.0
_LOCK_RETRY_S = 0.05


class LexicalFollower:
    """The index in a collection's directory. One writer."""

    def __init__(self, directory: Path) -> None:
        self._state = LexicalState(directory / LEXICAL_STATE)
        self._index = self._opened(directory / LEXICAL)
        self._generation = self._state.read()
        self._refreshing = Refreshing(self._index)

    @property
    def generation(self) -> int | None:
        """Generation that the index reflects, None when that is not known."""
        return self._generation

    def view(self) -> LexicalView:
        """Return a view of the last commit."""
        with panics_as_errors():
            return GuardedView(self._index.view())

    @contextmanager
    def staging(self) -> Iterator[Callable[[LexicalEntry], None]]:
        """Let the chunks of a change be indexed while it is being stored; without a `follow` they are forgotten.

        Raises GroundwireError STORAGE_FAILED, here or where a chunk is staged.
        """
        with _clear_errors():
            self._index.unstage()  # what could not be forgotten when an earlier change failed
        try:
            yield self._stage
        finally:
            with suppress(OSError, ValueError):  # rather than hide why the change failed; the next one tries again
                self._index.unstage()

    def follow(self, committed: CommittedChange) -> bool:
        """Apply a change whose chunks are staged if it is the next one; otherwise return False, `rebuild` is due."""
        if self._generation != committed.generation - 1:
            return False
        with panics_as_errors():
            self._index.commit(committed.dead_document_rows)
        passed(CommitStep.INDEXED)
        self._record(committed.generation)
        return True

    def rebuild(self, generation: int, entries: Iterable[LexicalEntry]) -> None:
        """Replace everything by what a generation holds."""
        with panics_as_errors():
            self._index.rebuild(entries)
        self._record(generation)

    def refresh(self, entries: Iterable[LexicalEntry]) -> bool:
        """Replace everything by the same, so that deleted rows no longer weigh on BM25's statistics.

        Returns False when `stop_refreshing` was called before it was through; nothing but `close` may follow then.
        """
        with panics_as_errors():
            if not self._refreshing.run(entries):
                return False
        passed(CommitStep.LEXICAL_REFRESHED)
        return True

    def stop_refreshing(self) -> None:
        """Let `refresh` end soon, now and from now on; from any thread."""
        self._refreshing.stop()

    def resume_merges(self) -> None:
        """See LexicalIndex."""
        with panics_as_errors():
            self._index.resume_merges()

    def close(self, *, waits_for_merges: bool) -> None:
        """Release the files; see LexicalIndex. A refresh that was stopped does so when it ends.

        Threads of the index that failed, as on a full disk, are no hindrance: what they did not write is made again.
        """
        if not self._refreshing.is_abandoned:
            with suppress(OSError, ValueError), panics_as_errors():
                self._index.close(waits_for_merges=waits_for_merges)

    def _stage(self, entry: LexicalEntry) -> None:
        with _clear_errors():
            self._index.stage(entry)

    def _record(self, generation: int) -> None:
        self._state.record(generation)
        self._generation = generation
        passed(CommitStep.LEXICAL_RECORDED)

    def _opened(self, directory: Path) -> LexicalIndex:
        if not (directory / LEXICAL_SEGMENTS).exists():
            self._state.forget()  # what is opened then is empty, whatever was there before
        patient_until_s = time.monotonic() + _LOCK_PATIENCE_S
        while True:
            try:
                with panics_as_errors():
                    index = LexicalIndex(directory)
                    index.view()  # opens all that it consists of
                    return index
            except ValueError as error:
                # A refresh that a stop abandoned holds the lock until it ends, or its process does.
                if _LOCK_ERROR not in str(error) or time.monotonic() > patient_until_s:
                    break
            time.sleep(_LOCK_RETRY_S)
        self._state.forget()  # first, or a death would leave an empty index that is taken for a full one
        shutil.rmtree(directory, ignore_errors=True)
        return LexicalIndex(directory)


@contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise GroundwireError(
            error_pb2.ERROR_REASON_STORAGE_FAILED,
            # Of a full disk Tantivy tells once; from then on it says that its writer was killed.
            f"the lexical index could not be written ({error}): if the disk is full, free some space",
        ) from error
