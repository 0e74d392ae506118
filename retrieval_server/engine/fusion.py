"""Weighted Reciprocal Rank Fusion (Cormack, Clarke & Büttcher 2009, https://doi.org/10.1145/1571941.1572114)."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from retrieval_server.model import ListScore

Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True)
class RankedList(Generic[Item]):
    """One list to fuse: (item, raw score), best first, each item once."""

    name: str
    weight: float
    hits: Sequence[tuple[Item, float]]


def fuse(lists: Sequence[RankedList[Item]], rank_constant: int) -> Mapping[Item, tuple[ListScore, ...]]:
    """Return each item's part in every list: contribution = weight / (rank_constant + rank), rank from 1.

    An item's fused score is the sum of its contributions. An item that a list lacks has rank 0 there.
    """
    found: dict[Item, dict[str, ListScore]] = {}
    for ranked in lists:
        for rank, (item, raw_score) in enumerate(ranked.hits, start=1):
            contribution = ranked.weight / (rank_constant + rank)
            found.setdefault(item, {})[ranked.name] = ListScore(ranked.name, rank, raw_score, contribution)
    return {
        item: tuple(scores.get(ranked.name) or ListScore(ranked.name, 0, 0.0, 0.0) for ranked in lists)
        for item, scores in found.items()
    }
