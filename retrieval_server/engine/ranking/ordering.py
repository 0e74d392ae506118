"""Best first, with ties decided by place."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")


def by_score(
    items: Iterable[Item], score: Callable[[Item], float], place: Callable[[Item], tuple[str, int, str]]
) -> list[Item]:
    """Return the items by falling score; those of equal score by place, which is asked for these alone."""
    ranked = sorted(items, key=score, reverse=True)
    scores = list(map(score, ranked))
    begin = 0
    for end in range(1, len(ranked) + 1):
        if end == len(ranked) or scores[end] != scores[begin]:
            if end - begin > 1:
                ranked[begin:end] = sorted(ranked[begin:end], key=place)
            begin = end
    return ranked
