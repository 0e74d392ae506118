"""A view of the lexical index whose files may be damaged: Tantivy reports some damage and panics at other."""

from typing import NoReturn

from retrieval_server.corpus.lexical.panics import is_panic
from retrieval_server.engine.lexical.bm25 import LexicalQuery, LexicalView
from retrieval_server.engine.places.filters import Allowed


class UnreadableIndex(Exception):
    """Tantivy cannot read what it wrote."""


class GuardedView(LexicalView):
    """Searches as `view` does, and raises UnreadableIndex for whatever Tantivy raises."""

    def __init__(self, view: LexicalView) -> None:
        self._view = view
        self.chunk_count = view.chunk_count

    def search(self, query: LexicalQuery, limit: int, allowed: Allowed | None = None) -> list[tuple[int, float]]:
        """See LexicalView. Raises UnreadableIndex."""
        try:
            return self._view.search(query, limit, allowed)
        except BaseException as error:
            _raise_as_unreadable(error)

    def chunk_count_of(self, term: str) -> int:
        """See LexicalView. Raises UnreadableIndex."""
        # Asked for each word many times a query, which a context manager would make dearer.
        try:
            return self._view.chunk_count_of(term)
        except BaseException as error:
            _raise_as_unreadable(error)


def _raise_as_unreadable(error: BaseException) -> NoReturn:
    if isinstance(error, ValueError) or is_panic(error):
        raise UnreadableIndex(str(error)) from error
    raise error
