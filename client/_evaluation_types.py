"""Labelled questions, and what measuring and tuning on them came to."""

from dataclasses import dataclass

from client._passage_types import FusionOverrides, RetrievalProfile


@dataclass(frozen=True, slots=True)
class LabelledSpan:
    """Where an answer is: offsets are code points, `end_char` exclusive; `path` may be the end of a display path."""

    path: str
    start_char: int
    end_char: int


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question and the places of which each answers it."""

    question_id: str
    question: str
    sources: tuple[LabelledSpan, ...]


@dataclass(frozen=True, slots=True)
class EvaluationProgress:
    """How many steps of all are done."""

    done_count: int
    total_count: int


@dataclass(frozen=True, slots=True)
class RecallAtCutoff:
    """Share of questions found among the first `k` passages, with its 95 % interval."""

    k: int
    found_count: int
    recall: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RetrievalReport:
    """How well passages were found; a `first_hit_ranks` of 0 is a question that was not."""

    recalls: tuple[RecallAtCutoff, ...]
    mean_reciprocal_rank: float
    first_hit_ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RankingMeasures:
    """Means over questions, 0 to 1, of the first ten passages."""

    mean_reciprocal_rank: float
    recall_at_1: float
    recall_at_5: float


@dataclass(frozen=True, slots=True)
class TuningReport:
    """What tuning came to: `held_out` and `gain` are of weights that were fitted without the question they are used on.

    `worth_keeping`: the gain's 95 % interval lies above 0, and chance alone hardly ever gives as much (`p_value`).
    """

    profile: RetrievalProfile
    fusion: FusionOverrides
    worth_keeping: bool
    applied: bool
    question_count: int
    other_profile_count: int
    before: RankingMeasures
    held_out: RankingMeasures
    gain: float
    gain_low: float
    gain_high: float
    p_value: float
    fold_fusions: tuple[FusionOverrides, ...]


@dataclass(frozen=True, slots=True)
class TunedFusion:
    """What tuning has set on a collection for one profile."""

    profile: RetrievalProfile
    fusion: FusionOverrides
