"""The marginals against a slow exact computation over a toy vocabulary: every sequence, every passage, in fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generation_worker.decoding.marginals import (
    best_sequence,
    log_softmax,
    passage_posterior,
    sequence_marginal,
    token_marginal,
)

VOCABULARY = 3
LENGTH = 3


def distribution(weights: list[int]) -> list[Fraction]:
    return [Fraction(weight, sum(weights)) for weight in weights]


@st.composite
def toy_models(draw: st.DrawFn) -> tuple[list[Fraction], list[dict[tuple[int, ...], list[Fraction]]]]:
    """Passage probabilities, and for each passage the next token's distribution after every prefix."""
    weights = st.lists(st.integers(1, 9), min_size=VOCABULARY, max_size=VOCABULARY)
    passage_count = draw(st.integers(1, 3))
    p_passages = distribution(draw(st.lists(st.integers(1, 9), min_size=passage_count, max_size=passage_count)))
    prefixes = [prefix for n in range(LENGTH) for prefix in itertools.product(range(VOCABULARY), repeat=n)]
    return p_passages, [{prefix: distribution(draw(weights)) for prefix in prefixes} for _ in range(passage_count)]


def exact_sequence(p_passages: list[Fraction], models: list, sequence: tuple[int, ...]) -> Fraction:
    return sum(
        (
            p * math.prod((model[sequence[:i]][token] for i, token in enumerate(sequence)), start=Fraction(1))
            for p, model in zip(p_passages, models, strict=True)
        ),
        start=Fraction(0),
    )


def log_rows(models: list, sequence: tuple[int, ...]) -> list[list[float]]:
    return [[math.log(model[sequence[:i]][token]) for i, token in enumerate(sequence)] for model in models]


@settings(deadline=None)
@given(toy_models())
def test_rag_sequence_is_the_exact_mixture_and_sums_to_one_over_all_sequences(toy: tuple) -> None:
    p_passages, models = toy
    log_p = np.log(np.array(p_passages, dtype=float))
    sequences = [*itertools.product(range(VOCABULARY), repeat=LENGTH)]
    found = [sequence_marginal(log_rows(models, sequence), log_p) for sequence in sequences]
    exact = [exact_sequence(p_passages, models, sequence) for sequence in sequences]
    assert np.exp(found) == pytest.approx([float(p) for p in exact], rel=1e-9)
    assert sum(np.exp(found)) == pytest.approx(1.0)
    index, score = best_sequence([log_rows(models, sequence) for sequence in sequences], log_p)
    assert exact[index] == max(exact) or float(exact[index]) == pytest.approx(float(max(exact)), rel=1e-12)
    assert score == pytest.approx(math.log(exact[index]))


@settings(deadline=None)
@given(toy_models())
def test_rag_token_is_the_exact_mixture_at_every_token(toy: tuple) -> None:
    p_passages, models = toy
    log_p = np.log(np.array(p_passages, dtype=float))
    for prefix in models[0]:
        log_next = np.log(np.array([[float(p) for p in model[prefix]] for model in models]))
        exact = [
            float(sum((p * model[prefix][token] for p, model in zip(p_passages, models, strict=True)), Fraction(0)))
            for token in range(VOCABULARY)
        ]
        assert np.exp(token_marginal(log_next, log_p)) == pytest.approx(exact, rel=1e-9)


@settings(deadline=None)
@given(toy_models())
def test_the_posterior_is_what_bayes_rule_makes_of_every_answer_and_every_token(toy: tuple) -> None:
    p_passages, models = toy
    log_p = np.log(np.array(p_passages, dtype=float))
    for sequence in itertools.product(range(VOCABULARY), repeat=LENGTH):
        joint = [exact_sequence([p], [model], sequence) for p, model in zip(p_passages, models, strict=True)]
        found = passage_posterior(np.array([sum(row) for row in log_rows(models, sequence)]), log_p)
        assert np.exp(found) == pytest.approx([float(p / sum(joint)) for p in joint], rel=1e-9)
    for token in range(VOCABULARY):
        joint = [p * model[()][token] for p, model in zip(p_passages, models, strict=True)]
        found = passage_posterior(np.array([math.log(model[()][token]) for model in models]), log_p)
        assert np.exp(found) == pytest.approx([float(p / sum(joint)) for p in joint], rel=1e-9)


def test_with_one_passage_both_are_what_that_passage_says() -> None:
    log_p = log_softmax([3.7])
    assert sequence_marginal([[-1.0, -2.0]], log_p) == pytest.approx(-3.0)
    assert token_marginal(np.array([[-1.0, -2.0]]), log_p) == pytest.approx([-1.0, -2.0])


def test_what_no_passage_allows_is_impossible_and_no_warning() -> None:
    impossible = token_marginal(np.array([[-np.inf, 0.0], [-np.inf, 0.0]]), log_softmax([1.0, 2.0]))
    assert impossible[0] == -np.inf
    assert impossible[1] == pytest.approx(0.0)


def test_scores_far_apart_neither_overflow_nor_vanish() -> None:
    assert np.exp(log_softmax([1000.0, 999.0])) == pytest.approx([1 / (1 + math.exp(-1)), 1 / (1 + math.e)])
    assert sequence_marginal([[-900.0], [-901.0]], log_softmax([0.0, 0.0])) == pytest.approx(
        -900 + math.log((1 + math.exp(-1)) / 2)
    )


def test_without_candidates_there_is_nothing_to_choose() -> None:
    with pytest.raises(ValueError, match="no candidate"):
        best_sequence([], log_softmax([0.0]))
