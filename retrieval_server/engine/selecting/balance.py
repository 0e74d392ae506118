"""Docs and code in turn: each side keeps its own order, and none can crowd the other out."""

from collections.abc import Sequence
from dataclasses import replace

from retrieval_server.engine.places.filters import Allowed, FilterableView, allowed_chunks
from retrieval_server.engine.ranking.candidate import Candidate
from retrieval_server.model import ContentKind, PassageFilter

_CODE = frozenset({ContentKind.CODE})
_ALL_KINDS = frozenset(ContentKind)


def subsets(wanted: PassageFilter, view: FilterableView) -> list[Allowed | None]:
    """Return what a filter leaves of code and of everything else, so that each is searched to its own depth."""
    kinds = wanted.kinds or _ALL_KINDS
    sides = (kinds & _CODE, kinds - _CODE)
    return [allowed_chunks(replace(wanted, kinds=side), view) for side in sides if side]


def sides(ranked: Sequence[Candidate], *, is_code_first: bool) -> list[list[Candidate]]:
    """Return code and everything else, each in its order."""
    code = [candidate for candidate in ranked if is_code(candidate)]
    other = [candidate for candidate in ranked if not is_code(candidate)]
    return [code, other] if is_code_first else [other, code]


def is_code(candidate: Candidate) -> bool:
    """Tell on which side a candidate is."""
    return candidate.place.document.kind is ContentKind.CODE
