"""Weighted Reciprocal Rank Fusion (Cormack, Clarke & Büttcher 2009, https://doi.org/10.1145/1571941.1572114)."""

from collections.abc import Hashable, Sequence
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


class Fused(Generic[Item]):
    """Lists fused: an item's score is the sum of weight / (rank_constant + rank) over the lists, rank from 1.

    Its parts are made on demand: a query fuses a hundred items and shows ten.
    """

    def __init__(self, lists: Sequence[RankedList[Item]], rank_constant: int) -> None:
        self._lists = lists
        self._rank_constant = rank_constant
        self._places: list[dict[Item, tuple[int, float]]] = []
        self.scores: dict[Item, float] = {}
        """The sum of each item's contributions."""
        for ranked in lists:
            places: dict[Item, tuple[int, float]] = {}
            for rank, (item, raw_score) in enumerate(ranked.hits, start=1):
                places[item] = rank, raw_score
                self.scores[item] = self.scores.get(item, 0.0) + ranked.weight / (rank_constant + rank)
            self._places.append(places)

    def parts(self, item: Item) -> tuple[ListScore, ...]:
        """Return the item's part in every list; one that a list lacks has rank 0 there."""
        return tuple(
            ListScore(ranked.name, *places[item], ranked.weight / (self._rank_constant + places[item][0]))
            if item in places
            else ListScore(ranked.name, 0, 0.0, 0.0)
            for ranked, places in zip(self._lists, self._places, strict=True)
        )
