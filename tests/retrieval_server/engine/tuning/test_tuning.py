"""Fitting the weights of ranking: a gain that is there is found, and noise is refused."""

import numpy as np
import pytest
from numpy.random import Generator

from retrieval_server.engine.ranking.profiles import NOT_TUNED
from retrieval_server.engine.tuning.refusing import JudgedQuestion
from retrieval_server.engine.tuning.tuning import FOLD_COUNT, TunedQuestion, Tuner, TuningReport, gain_of
from retrieval_server.model import FusionConstants, FusionOverrides

CANDIDATE_COUNT = 30
CONSTANTS = FusionConstants(margin_weight=0.0, proximity_weight=0.0, path_weight=0.0)


def question(generator: Generator, gold_ranks: dict[str, int], gold_shares: dict[str, float]) -> JudgedQuestion:
    """A question whose gold candidate has these ranks and shares; everything else is drawn."""
    gold = int(generator.integers(CANDIDATE_COUNT))
    ranks = {}
    for name in ("bm25", "dense"):
        drawn = generator.permutation(CANDIDATE_COUNT).astype(float) + 1
        wanted = gold_ranks.get(name)
        if wanted is not None:
            drawn[drawn == wanted] = drawn[gold]
            drawn[gold] = wanted
        ranks[name] = drawn
    shares = {name: generator.random(CANDIDATE_COUNT) for name in ("path", "proximity")}
    for name, share in gold_shares.items():
        shares[name] *= 0.5
        shares[name][gold] = share
    return JudgedQuestion(
        ranks=ranks,
        score_shares={name: 1 / drawn for name, drawn in ranks.items()},
        factors=np.ones(CANDIDATE_COUNT),
        shares=shares,
        documents=np.arange(CANDIDATE_COUNT),
        is_gold=np.arange(CANDIDATE_COUNT) == gold,
        repeats={},
    )


def tuned(
    questions: list[JudgedQuestion],
    pinned: FusionOverrides = NOT_TUNED,
    in_force: FusionOverrides = NOT_TUNED,
    constants: FusionConstants = CONSTANTS,
) -> TuningReport:
    texts = [f"question {number}" for number in range(len(questions))]
    tuner = Tuner([TunedQuestion(one, constants, pinned) for one in questions], texts, in_force)
    return tuner.report(tuner.fit(None), [tuner.fit(fold) for fold in range(FOLD_COUNT)])


def dense_knows(count: int) -> list[JudgedQuestion]:
    generator = np.random.default_rng(1)
    return [question(generator, {"dense": 1}, {}) for _ in range(count)]


def test_the_list_that_knows_gets_the_weight_and_the_gain_is_worth_keeping():
    report = tuned(dense_knows(60))
    assert report.setting.lexical_weight == 0.5
    assert report.is_worth_keeping
    assert 0 < report.gain.low < report.gain.mean < report.gain.high
    assert report.held_out.recall_at_1 > report.before.recall_at_1
    assert all(setting.lexical_weight == 0.5 for setting in report.fold_settings)


def test_a_signal_that_knows_gets_the_weight():
    generator = np.random.default_rng(2)
    questions = [question(generator, {"bm25": 4, "dense": 4}, {"proximity": 1.0}) for _ in range(60)]
    report = tuned(questions)
    assert report.is_worth_keeping
    assert report.setting.proximity_weight


@pytest.mark.parametrize("seed", range(6))
def test_noise_is_refused(seed: int):
    generator = np.random.default_rng(100 + seed)
    report = tuned([question(generator, {}, {}) for _ in range(40)])
    assert not report.is_worth_keeping
    # To the questions that it was fitted to it does look like a gain.
    assert report.setting != NOT_TUNED


def test_what_is_best_already_is_not_worth_a_change():
    report = tuned(dense_knows(40), in_force=tuned(dense_knows(40)).setting)
    assert (report.gain.mean, report.gain.low, report.is_worth_keeping) == (0, 0, False)
    assert report.before == report.held_out


def test_what_the_request_sets_is_not_tuned():
    report = tuned(dense_knows(40), pinned=FusionOverrides(lexical_weight=4.0))
    assert report.setting.lexical_weight is None
    assert all(setting.lexical_weight is None for setting in report.fold_settings)


def test_equal_questions_are_never_on_both_sides():
    """Copies of a few random questions: with a copy on the other side, each could be learned by heart."""
    generator = np.random.default_rng(3)
    few = [question(generator, {}, {}) for _ in range(5)]
    texts = [f"What is number {n % 5}?" if n < 20 else f"what  IS number {n % 5}?" for n in range(40)]
    tuner = Tuner([TunedQuestion(few[n % 5], CONSTANTS) for n in range(40)], texts, NOT_TUNED)
    for fold in range(FOLD_COUNT):
        left_out = {text.casefold().split()[-1] for text, one in zip(texts, tuner._folds, strict=True) if one == fold}
        others = {text.casefold().split()[-1] for text, one in zip(texts, tuner._folds, strict=True) if one != fold}
        assert len(left_out) == 1
        assert not left_out & others


def test_where_all_questions_are_one_nothing_is_learned_without_it():
    questions = [TunedQuestion(one, CONSTANTS) for one in dense_knows(25)]
    tuner = Tuner(questions, ["What is it?"] * 25, NOT_TUNED)
    report = tuner.report(tuner.fit(None), [tuner.fit(fold) for fold in range(FOLD_COUNT)])
    assert not report.is_worth_keeping


def test_equal_input_gives_an_equal_report():
    assert tuned(dense_knows(25)) == tuned(dense_knows(25))


def test_a_few_questions_that_change_are_no_evidence_though_none_is_worse():
    differences = np.zeros(100)
    differences[:4] = 1
    gain = gain_of(differences)
    assert gain.mean == pytest.approx(0.04)
    assert gain.p_value == pytest.approx(1 / 16, abs=0.02)  # four coins fall alike
    assert not gain.is_real
    differences[:15] = 1
    assert gain_of(differences).is_real


def test_the_interval_is_that_of_a_mean_over_five_folds():
    differences = np.random.default_rng(4).normal(0.1, 0.5, 400)
    gain = gain_of(differences)
    half_width = 1.96 * 1.5 * differences.std() / np.sqrt(400)  # √(1 / 5 + 1 / 4) is 1.5 · √(1 / 5)
    assert gain.low == pytest.approx(differences.mean() - half_width, rel=0.1)
    assert gain.high == pytest.approx(differences.mean() + half_width, rel=0.1)
    flipped = gain_of(-differences)
    assert flipped.mean == -gain.mean
    assert flipped.p_value > 0.9
