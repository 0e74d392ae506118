"""The lexical index as it follows the database: what it reflects is known, and what cannot be opened is made again."""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from retrieval_server.corpus.documents.changes import CommittedChange
from retrieval_server.corpus.files.commit_steps import CommitStep, passed
from retrieval_server.corpus.files.layout import LEXICAL, LEXICAL_STATE
from retrieval_server.corpus.lexical.lexical_state import LexicalState
from retrieval_server.engine.lexical import LexicalEntry, LexicalIndex, LexicalView


class _RefreshStoppedError(Exception):
    """The rest of the entries is not wanted any more."""


class LexicalFollower:
    """The index in a collection's directory. One writer."""

    def __init__(self, directory: Path) -> None:
        self._state = LexicalState(directory / LEXICAL_STATE)
        self._index = self._opened(directory / LEXICAL)
        self._generation = self._state.read()
        self._is_stopped = False

    @property
    def generation(self) -> int | None:
        """Generation that the index reflects, None when that is not known."""
        return self._generation

    def view(self) -> LexicalView:
        """Return a view of the last commit."""
        return self._index.view()

    def follow(self, committed: CommittedChange) -> bool:
        """Apply a change if it is the next one; otherwise return False, and `rebuild` is due."""
        if self._generation != committed.generation - 1:
            return False
        self._index.replace(committed.dead_document_rows, committed.added_entries)
        passed(CommitStep.INDEXED)
        self._record(committed.generation)
        return True

    def rebuild(self, generation: int, entries: Iterable[LexicalEntry]) -> None:
        """Replace everything by what a generation holds."""
        self._index.rebuild(entries)
        self._record(generation)

    def refresh(self, entries: Iterable[LexicalEntry]) -> bool:
        """Replace everything by the same, so that deleted rows no longer weigh on BM25's statistics.

        Returns False, and leaves the index as it was, when `stop_refreshing` was called before it was through.
        """
        try:
            self._index.rebuild(self._until_stopped(entries))
        except _RefreshStoppedError:
            return False
        passed(CommitStep.LEXICAL_REFRESHED)
        return True

    def stop_refreshing(self) -> None:
        """Let `refresh` end soon, now and from now on; from any thread."""
        self._is_stopped = True

    def resume_merges(self) -> None:
        """See LexicalIndex."""
        self._index.resume_merges()

    def close(self, *, waits_for_merges: bool) -> None:
        """Release the files; see LexicalIndex."""
        self._index.close(waits_for_merges=waits_for_merges)

    def _until_stopped(self, entries: Iterable[LexicalEntry]) -> Iterator[LexicalEntry]:
        for entry in entries:
            if self._is_stopped:
                raise _RefreshStoppedError
            yield entry

    def _record(self, generation: int) -> None:
        self._state.record(generation)
        self._generation = generation
        passed(CommitStep.LEXICAL_RECORDED)

    def _opened(self, directory: Path) -> LexicalIndex:
        try:
            return LexicalIndex(directory)
        except ValueError:
            shutil.rmtree(directory, ignore_errors=True)
            self._state.forget()
            return LexicalIndex(directory)
