"""How near to its best each list scores a chunk: what ranks forget, and what the end of a list cuts off.

Ranks let lists of any scale be fused. But the first of a list leads by a word or by a mile, and to ranks a chunk that
one list puts first and another just beyond its end is one of which the other knows nothing. So the candidates that lead
by their ranks are ordered by the mean of their scores, each as a share of its list's highest: a convex combination
(Bruch, Gai & Ingber 2022, https://arxiv.org/abs/2210.11934), with the weights that the lists have in the fusion.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.ranking.fusion import RankedList

Shares = NDArray[np.float64]
"""Of each chunk, its score in one list as a share, 0 to 1, of the highest: (n_chunks,)."""

# What was found is never worth nothing, whatever its scores.
_LEAST = 0.01


def score_shares(
    ranked: RankedList[int], chunk_ids: Sequence[int], pool_count: int, known: Mapping[int, float] | None = None
) -> Shares:
    """Return the shares of chunks in one list.

    Where the list lacks a chunk, `known` may have its score; else it is taken for as good as the last of a list that is
    full, and for 0 in one that is not, which has all that there is.
    """
    if not ranked.hits or ranked.hits[0][1] <= 0:
        return np.zeros(len(chunk_ids))
    score_of = {**(known or {}), **dict(ranked.hits)}
    lacking = ranked.hits[-1][1] if len(ranked.hits) >= pool_count else 0.0
    scores = [score_of.get(i, lacking) for i in chunk_ids]
    return np.clip(np.array(scores, dtype=np.float64) / ranked.hits[0][1], 0.0, 1.0)


def scores_by_margin(
    fused: NDArray[np.float64],
    shares_by_list: Mapping[str, Shares],
    weight_by_list: Mapping[str, float],
    rank_constant: int,
    margin_weight: float,
) -> NDArray[np.float64]:
    """Return the scores, (n_chunks,), that take the place of `fused`, those by rank.

    At a `margin_weight` of 0 they are the same; from 1 on the score shares alone count, so scaled that a chunk which is
    the best of every list keeps its score. Lists that found nothing are not among `shares_by_list`.
    """
    total = sum(weight_by_list[name] for name in shares_by_list)
    if total <= 0 or margin_weight <= 0:
        return fused
    mean = np.zeros(len(fused))
    for name, shares in shares_by_list.items():
        mean += weight_by_list[name] / total * shares
    by_share = np.maximum(mean, _LEAST) * (total / (rank_constant + 1))
    exponent = min(margin_weight, 1.0)
    mixed: NDArray[np.float64] = by_share**exponent * fused ** (1 - exponent)
    return mixed
