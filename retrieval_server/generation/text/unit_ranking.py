"""Which units of the passages best answer a question, by words held and by what sort of answer is asked for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from retrieval_server.generation.text.evidence import Evidence, content_terms
from retrieval_server.generation.text.units import Unit, UnitKind, units_of
from retrieval_server.model import Passage

# Shares of the question's weight that count when they stand around a unit and not in it.
_NEAR_SHARE = 0.5
_CONTEXT_SHARE = 0.3
_NEAR_UNITS = 2
_RANK_DISCOUNT = 0.08
_KIND_BONUS = {
    UnitKind.HEADING: -0.6,  # it repeats the words of a question and answers nothing
    UnitKind.SIGNATURE: -0.25,
    UnitKind.COMMAND: -0.1,
    UnitKind.LIST: 0.0,
}
_QUESTION_PENALTY = 0.6
_UNFINISHED_PENALTY = 0.25
_NOTHING_NEW_PENALTY = 0.3
_SHORT_CHARS = 25
_SHORT_PENALTY = 0.2
_LONG_CHARS = 250
_LONG_PENALTY_A_CHAR = 0.0002


@dataclass(frozen=True, slots=True)
class _Cue:
    """What a question that asks so is likely to be answered by."""

    asks: re.Pattern[str]
    answers: re.Pattern[str]
    bonus: float
    kinds: tuple[UnitKind, ...] = ()


def _cue(asks: str, answers: str, bonus: float, kinds: tuple[UnitKind, ...] = ()) -> _Cue:
    return _Cue(re.compile(asks, re.IGNORECASE), re.compile(answers), bonus, kinds)


_ANYTHING = ""
_HOW_TO = r"\s*(?:how (?:do|can|to|should)\b|(?:what|which) command)"
_CUES = (
    _cue(_HOW_TO, _ANYTHING, 0.35, (UnitKind.COMMAND,)),
    _cue(_HOW_TO, r"`", 0.08, (UnitKind.SENTENCE, UnitKind.ITEM)),
    _cue(
        r".*\b(?:how many|minimum|maximum|version|default|size|number|value|port|percent|dimensions?|shape)\b",
        r"\d|\b(?:None|True|False|null)\b",
        0.12,
    ),
    _cue(
        r".*\b(?:error|exception|assert|assertion|raised?)\b",
        r"\b(?:raise|assert|throw)\b|(?:Error|Exception)\b",
        0.2,
    ),
    _cue(r"\s*(?:what|which)\s+(?:are\b|(?:\w+\s+){1,4}(?:are|do|does|can|must|should)\b)", r"(?:[^,]*,){2}", 0.12),
    _cue(r"\s*(?:what|which)\s+(?:are\b|(?:\w+\s+){1,4}(?:are|do)\b)", _ANYTHING, 0.12, (UnitKind.LIST,)),
    _cue(r"\s*where\b", r"\]\(|https?://|/", 0.1),
    _cue(r".*\breturns?\b", r"\b[Rr]eturns?\b", 0.2),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RankedUnit:
    """A unit of `passages[passage_index]`; `terms` are those of the question that it holds."""

    passage_index: int
    unit: Unit
    terms: frozenset[str]
    score: float


def rank_units(question: str, passages: Sequence[Passage], evidence: Evidence) -> list[RankedUnit]:
    """Return the units of `passages` (best first) that hold anything of `question`, best first.

    `evidence` is that of the same passages. Equals keep the order of the passages and of their text.
    """
    terms = content_terms(question)
    weights = {term: evidence.weight((term,)) for term in terms}
    total = sum(weights.values()) or 1
    cues = [cue for cue in _CUES if cue.asks.match(question)]

    def share(held: frozenset[str]) -> float:
        return sum(weights[term] for term in held) / total

    ranked: list[RankedUnit] = []
    for index, passage in enumerate(passages):
        context = content_terms(" ".join((passage.path, *passage.breadcrumbs))) & terms
        units = units_of(passage)
        unit_terms = [content_terms(passage.text[unit.start : unit.end]) for unit in units]
        for place, unit in enumerate(units):
            own = unit_terms[place] & terms
            around = unit_terms[max(place - _NEAR_UNITS, 0) : place + _NEAR_UNITS + 1]
            near = frozenset[str]().union(*around) & terms - own
            score = share(own) + _NEAR_SHARE * share(near) + _CONTEXT_SHARE * share(context - own - near)
            if score <= 0:
                continue
            score += _form_bonus(unit, passage.text[unit.start : unit.end], cues)
            score -= 0.0 if unit_terms[place] - terms else _NOTHING_NEW_PENALTY
            ranked.append(RankedUnit(index, unit, own, score / (1 + _RANK_DISCOUNT * index)))
    return sorted(ranked, key=lambda one: -round(one.score, 9))


def _form_bonus(unit: Unit, text: str, cues: Sequence[_Cue]) -> float:
    bonus = _KIND_BONUS.get(unit.kind, 0.0) - _LONG_PENALTY_A_CHAR * max(0, len(text) - _LONG_CHARS)
    stripped = text.rstrip()
    if stripped.endswith("?"):
        bonus -= _QUESTION_PENALTY
    if stripped.endswith(":") and unit.kind in (UnitKind.SENTENCE, UnitKind.ITEM):
        bonus -= _UNFINISHED_PENALTY
    if len(text) < _SHORT_CHARS and unit.kind is not UnitKind.COMMAND:
        bonus -= _SHORT_PENALTY
    return bonus + sum(
        cue.bonus for cue in cues if (not cue.kinds or unit.kind in cue.kinds) and cue.answers.search(text)
    )
