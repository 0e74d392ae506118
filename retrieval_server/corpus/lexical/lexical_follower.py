"""The lexical index as it follows the database: what it reflects is known, and what cannot be opened is made again."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from retrieval_server.corpus.documents.changes import CommittedChange
from retrieval_server.corpus.files.commit_steps import CommitStep, passed
from retrieval_server.corpus.files.layout import LEXICAL, LEXICAL_STATE
from retrieval_server.corpus.lexical.lexical_state import LexicalState
from retrieval_server.engine.lexical import LexicalEntry, LexicalIndex, LexicalView


class LexicalFollower:
    """The index in a collection's directory. One writer."""

    def __init__(self, directory: Path) -> None:
        self._state = LexicalState(directory / LEXICAL_STATE)
        self._index = self._opened(directory / LEXICAL)
        self._generation = self._state.read()

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

    def refresh(self, entries: Iterable[LexicalEntry]) -> None:
        """Replace everything by the same, so that deleted rows no longer weigh on BM25's statistics."""
        self._index.rebuild(entries)
        passed(CommitStep.LEXICAL_REFRESHED)

    def close(self) -> None:
        """Release the files."""
        self._index.close()

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
