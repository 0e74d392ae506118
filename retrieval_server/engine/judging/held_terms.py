"""Which terms and words of a query the passages hold that are returned."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from retrieval_server.engine.ranking.candidates import IndexView
from retrieval_server.engine.ranking.proximity import term_key
from retrieval_server.engine.selecting.selection import Chosen
from retrieval_server.engine.words.analyser import analyse_terms
from retrieval_server.engine.words.asked_words import compacted
from retrieval_server.model import Passage


class HeldTerms:
    """The terms of some passages: of their texts, their paths and what encloses them."""

    def __init__(self, passages: Sequence[Chosen], view: IndexView) -> None:
        keys = view.term_keys([one.candidate.chunk_id for one in passages])
        self._keys = {chunk_id: frozenset(some.tolist()) for chunk_id, some in keys.items()}

    def of(self, one: Chosen, asked: Iterable[str]) -> frozenset[str]:
        """Return those of the `asked` terms that one of the passages holds."""
        keys = self._keys[one.candidate.chunk_id]
        around = _terms_around(one.candidate.place.document.relative_path, one.passage.breadcrumbs)
        return frozenset(term for term in asked if term in around or term_key(term) in keys)


@dataclass(frozen=True)
class HeldByChosen:
    """One of the passages, to be asked for words."""

    one: Chosen
    held: HeldTerms

    def terms(self, asked: frozenset[str]) -> frozenset[str]:
        """Return those of the `asked` index terms that stand in it."""
        return self.held.of(self.one, asked)

    def compact(self) -> str:
        """Return its text, path and breadcrumbs in letters and digits alone."""
        return self._compact

    @cached_property
    def _compact(self) -> str:
        return compacted(text_around(self.one.passage))


def text_around(passage: Passage) -> str:
    """Return a passage's text after its path and breadcrumbs."""
    return " ".join((passage.path, *passage.breadcrumbs, passage.text))


@lru_cache(maxsize=10_000)
def _terms_around(relative_path: str, breadcrumbs: tuple[str, ...]) -> frozenset[str]:
    return frozenset(analyse_terms(" ".join((relative_path, *breadcrumbs))))
