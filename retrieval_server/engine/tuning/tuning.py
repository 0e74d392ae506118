"""Fits the weights of ranking to labelled questions, and tells a gain from noise.

Every question is scored by weights that were fitted without it (5-fold cross-validation); what these win over the
weights in force is a difference for each question. The change is worth keeping only when the 95 % bootstrap interval
(Efron 1979, https://doi.org/10.1214/aos/1176344552) of the mean difference lies above 0, widened for what the folds
share (Nadeau & Bengio 2003, https://doi.org/10.1023/A:1024068626366), and so does the sign-flip test (Fisher 1935),
which is the stricter one when few questions change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.tuning.refusing import JudgedQuestion
from retrieval_server.model import FusionConstants, FusionOverrides

FOLD_COUNT = 5
# Only the ratio of the lists' weights counts, so the dense list keeps its own.
_GRIDS: Mapping[str, tuple[float, ...]] = {
    "lexical_weight": (0.5, 1.0, 1.5, 2.0, 3.0, 5.0),
    "rank_constant": (2, 5, 10, 20, 40, 60),
    "margin_weight": (0.0, 0.25, 0.5, 0.75, 1.0),
    "proximity_weight": (0.0, 0.25, 0.5, 1.0, 2.0),
    "path_weight": (0.0, 0.15, 0.3, 0.6, 1.0),
}
_MAX_ROUNDS = 3
_MIN_STEP = 1e-9
_MAX_P_VALUE = 0.025
# A fold's weights were fitted to the other folds' questions, so the folds are not independent: their variance is
# 1 / K + 1 / (K - 1) of one fold's and not 1 / K.
_WIDENING = (1 + FOLD_COUNT / (FOLD_COUNT - 1)) ** 0.5
_RESAMPLE_COUNT = 4000
_RESAMPLES_AT_ONCE = 200
_SEED = 2009
_RECALL_CUTOFFS = (1, 5)


class TunedQuestion(NamedTuple):
    """A judged question, the constants of its profile, and what its request sets over any others."""

    judged: JudgedQuestion
    profile_constants: FusionConstants
    pinned: FusionOverrides = FusionOverrides()
    max_per_file: int | None = None

    def first_hit_rank(self, setting: FusionOverrides) -> int | None:
        """Return the rank of the first gold passage with `setting` between the profile and the request."""
        constants = self.pinned.over(setting.over(self.profile_constants))
        return self.judged.first_hit_rank(constants, self.max_per_file)


@dataclass(frozen=True, slots=True)
class Measures:
    """Means over questions, 0 to 1; the objective is the mean of the three."""

    reciprocal_rank: float
    recall_at_1: float
    recall_at_5: float


@dataclass(frozen=True, slots=True)
class Gain:
    """A mean difference of the objective, its 95 % interval, and the chance of as large a mean without any effect."""

    mean: float
    low: float
    high: float
    p_value: float

    @property
    def is_real(self) -> bool:
        """Tell whether it is more than noise."""
        return self.low > 0 and self.p_value <= _MAX_P_VALUE


@dataclass(frozen=True, slots=True)
class TuningReport:
    """What fitting came to: `setting` was fitted to all questions, `held_out` and `gain` are of settings that were not.

    `fold_settings` were fitted without one fold each: where they differ much, the questions do not decide.
    """

    setting: FusionOverrides
    is_worth_keeping: bool
    before: Measures
    held_out: Measures
    gain: Gain
    fold_settings: tuple[FusionOverrides, ...]


class Tuner:
    """Fits one set of questions, starting from the setting in force. Not thread-safe.

    `texts` are the questions' texts, so that equal ones stay in one fold. What a request pins is left alone.
    """

    def __init__(self, questions: Sequence[TunedQuestion], texts: Sequence[str], in_force: FusionOverrides) -> None:
        self._questions = questions
        self._in_force = in_force
        pinned = questions[0].pinned
        self._grids = {name: grid for name, grid in _GRIDS.items() if getattr(pinned, name) is None}
        self._scores_of: dict[FusionOverrides, NDArray[np.float64]] = {}
        self._folds = _folds(texts)

    def fit(self, fold: int | None) -> FusionOverrides:
        """Return the best setting of all questions but those of one fold; None leaves out none.

        Coordinate search: each weight in turn takes the value of its grid that is best while the others stay. Between
        equals, what is in force stays.
        """
        rows = np.arange(len(self._questions)) if fold is None else np.flatnonzero(self._folds != fold)
        if not len(rows):  # all questions have one text, and are in this fold
            return self._in_force
        best, best_score = self._in_force, self._objective(self._in_force, rows)
        for _ in range(_MAX_ROUNDS):
            before = best
            for name, grid in self._grids.items():
                for value in (None, *grid):
                    changed: dict[str, Any] = {name: value}
                    setting = replace(best, **changed)
                    score = self._objective(setting, rows)
                    if score > best_score + _MIN_STEP:
                        best, best_score = setting, score
            if best == before:
                break
        return best

    def report(self, setting: FusionOverrides, fold_settings: Sequence[FusionOverrides]) -> TuningReport:
        """Return what was found, given the fit to all questions and those without each fold."""
        before = self._scores(self._in_force)
        held_out = before.copy()
        for fold, fitted in enumerate(fold_settings):
            rows = self._folds == fold
            held_out[rows] = self._scores(fitted)[rows]
        gain = gain_of((held_out - before).mean(axis=1))
        return TuningReport(
            setting=setting,
            is_worth_keeping=gain.is_real and setting != self._in_force,
            before=_measures(before),
            held_out=_measures(held_out),
            gain=gain,
            fold_settings=tuple(fold_settings),
        )

    def _objective(self, setting: FusionOverrides, rows: NDArray[np.int64]) -> float:
        return float(self._scores(setting)[rows].mean())

    def _scores(self, setting: FusionOverrides) -> NDArray[np.float64]:
        """Return (n_questions, 3) float64: reciprocal rank, and whether it was found at each cutoff."""
        known = self._scores_of.get(setting)
        if known is None:
            ranks = np.array([one.first_hit_rank(setting) or np.inf for one in self._questions], dtype=np.float64)
            known = np.column_stack([1 / ranks, *(ranks <= cutoff for cutoff in _RECALL_CUTOFFS)])
            self._scores_of[setting] = known
        return known


def gain_of(differences: NDArray[np.float64]) -> Gain:
    """Return the mean of (n_questions,) float64 differences, each held out; equal input gives equal output."""
    generator = np.random.default_rng(_SEED)
    count, mean = len(differences), float(differences.mean())
    resampled, as_large_count = [], 0
    for _ in range(_RESAMPLE_COUNT // _RESAMPLES_AT_ONCE):
        picked = generator.integers(0, count, (_RESAMPLES_AT_ONCE, count))
        resampled.append(differences[picked].mean(axis=1))
        signs = generator.choice((-1.0, 1.0), (_RESAMPLES_AT_ONCE, count))
        as_large_count += int(np.count_nonzero(signs @ differences / count >= mean - _MIN_STEP))
    low, high = np.percentile(np.concatenate(resampled), (2.5, 97.5)).tolist()
    return Gain(
        mean,
        low=mean - _WIDENING * (mean - low),
        high=mean + _WIDENING * (high - mean),
        p_value=(as_large_count + 1) / (_RESAMPLE_COUNT + 1),
    )


def _folds(texts: Sequence[str]) -> NDArray[np.int64]:
    """Return the fold, 0 to 4, of each question, (n_questions,)."""
    number_of: dict[str, int] = {}
    numbers = np.array([number_of.setdefault(" ".join(text.casefold().split()), len(number_of)) for text in texts])
    fold_of_number = np.random.default_rng(_SEED).permutation(len(number_of)) % FOLD_COUNT
    folds: NDArray[np.int64] = fold_of_number[numbers]
    return folds


def _measures(scores: NDArray[np.float64]) -> Measures:
    return Measures(*scores.mean(axis=0).tolist())
