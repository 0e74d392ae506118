"""Best first, with ties decided by place."""

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TypeVar

Item = TypeVar("Item")


def by_score(
    items: Iterable[Item], score: Callable[[Item], float], place: Callable[[Item], tuple[str, int]]
) -> list[Item]:
    """Return the items by falling score; those of equal score by place, which is asked for these alone."""
    ranked = sorted(items, key=score, reverse=True)
    if len(set(map(score, ranked))) == len(ranked):
        return ranked
    ordered: list[Item] = []
    for _, equal in groupby(ranked, score):
        tied = list(equal)
        ordered += sorted(tied, key=place) if len(tied) > 1 else tied
    return ordered
