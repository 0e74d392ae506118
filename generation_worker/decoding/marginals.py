"""Marginals over passages: how RAG-Sequence and RAG-Token mix what each passage says (arXiv:2005.11401).

Everything is in natural logarithms. `log_p_passages` holds log p(z|x) of the k passages and sums to 1 after exp.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Logs = NDArray[np.float64]


def log_softmax(scores: Sequence[float] | Logs | NDArray[np.float32], temperature: float = 1.0) -> Logs:
    """Return log p of each score along the last axis; `temperature` above 0 divides the scores first."""
    scaled = np.asarray(scores, dtype=np.float64) / temperature
    shifted = scaled - scaled.max(axis=-1, keepdims=True)
    logs: Logs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return logs


def sequence_marginal(log_p_tokens: Sequence[Sequence[float]], log_p_passages: Logs) -> float:
    """Return log p(y|x) = log Σ_z p(z|x) Π_i p(y_i|x,z,y_<i), RAG-Sequence's score of one answer y.

    `log_p_tokens[z][i]` is log p of token i under passage z: k rows, one an answer's token, the end token included.
    """
    return _log_sum_exp(np.array([sum(row) for row in log_p_tokens], dtype=np.float64) + log_p_passages, axis=0).item()


def token_marginal(log_p_next: Logs, log_p_passages: Logs) -> Logs:
    """Return log p(y_i|x,y_<i) = log Σ_z p(z|x) p(y_i|x,z,y_<i), RAG-Token's mixture of the next token.

    `log_p_next` is (k, vocabulary): each passage's distribution of the next token. The result is (vocabulary,). The
    weights stay those of retrieval at every token, as in the paper.
    """
    return _log_sum_exp(log_p_next + log_p_passages[:, None], axis=0)


def passage_posterior(log_likelihoods: Logs, log_p_passages: Logs) -> Logs:
    """Return log p(z|x,y), (k,), by Bayes' rule.

    `log_likelihoods` is (k,), log p(y|x,z) under each passage, of a whole answer or of one token of it.
    """
    return log_softmax(log_likelihoods + log_p_passages)


def best_sequence(log_p_tokens: Sequence[Sequence[Sequence[float]]], log_p_passages: Logs) -> tuple[int, float]:
    """Return the index of the candidate with the highest sequence marginal, and that; equals go to the earlier one.

    `log_p_tokens[c][z]` are candidate c's token log probabilities under passage z ("thorough decoding": every candidate
    is scored under every passage). Raises ValueError without candidates.
    """
    scores = [sequence_marginal(candidate, log_p_passages) for candidate in log_p_tokens]
    if not scores:
        raise ValueError("there is no candidate to choose from")
    best = max(range(len(scores)), key=scores.__getitem__)
    return best, scores[best]


def _log_sum_exp(logs: Logs, axis: int) -> Logs:
    most = logs.max(axis=axis, keepdims=True)
    finite = np.where(np.isfinite(most), most, 0.0)  # all of them impossible: the sum is, too
    with np.errstate(divide="ignore"):
        summed: Logs = np.log(np.exp(logs - finite).sum(axis=axis)) + finite.squeeze(axis)
    return summed
