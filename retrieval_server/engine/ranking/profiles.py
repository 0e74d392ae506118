"""The constants of ranking for each kind of query, in one place; `make ablation` prints what each is worth."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from retrieval_server.engine.ranking.query_kind import query_kind
from retrieval_server.model import FusionConstants, FusionOverrides, Profile, RetrieveQuery

_PRECISE = FusionConstants(lexical_weight=1.0, dense_weight=1.0, rank_constant=10)
# Who names code has read it, and asks in its words; who does not, asks in other words, and their order says less.
_PRECISE_IN_PLAIN_WORDS = replace(_PRECISE, proximity_weight=0.25)
# Files that are good in several places rise, and show one passage each.
_EXPLORE = FusionConstants(
    lexical_weight=1.0,
    dense_weight=1.5,
    rank_constant=10,
    proximity_weight=0.0,
    file_passage_count=2,
    max_per_file=1,
)
_SYMBOL = FusionConstants(
    lexical_weight=2.0, dense_weight=0.5, rank_constant=5, definition_weight=6.0, margin_weight=0.0
)


NOT_TUNED = FusionOverrides()
"""The setting that leaves each constant to its profile."""


class Ranking(NamedTuple):
    """How one request is ranked: `explanation` says why AUTO chose the profile, "" where the request named it."""

    profile: Profile
    constants: FusionConstants
    explanation: str


def ranking_of(
    request: RetrieveQuery, is_defined: Callable[[str], bool], tuned: Mapping[Profile, FusionOverrides]
) -> Ranking:
    """Return the profile that is used and its constants, over them what was tuned, over that the request's own.

    `is_defined` tells whether the collection defines a name; `tuned` is what it keeps for some profiles.
    """
    kind = query_kind(request.query, is_defined)
    if request.profile is not Profile.AUTO:
        kind = kind._replace(profile=request.profile, explanation="")
    constants = {
        Profile.EXPLORE: _EXPLORE,
        Profile.SYMBOL: _SYMBOL,
        Profile.PRECISE: _PRECISE if kind.identifier else _PRECISE_IN_PLAIN_WORDS,
    }[kind.profile]
    setting = tuned.get(kind.profile, NOT_TUNED)
    return Ranking(kind.profile, request.fusion.over(setting.over(constants)), kind.explanation)
