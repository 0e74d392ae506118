"""What retrieval says of each passage, as a probability: p(z|x) of RAG (arXiv:2005.11401, 2.2)."""

from collections.abc import Sequence

import numpy as np

from generation_worker.decoding.marginals import Logs, log_softmax

TEMPERATURE = 0.25
"""In best scores: a passage with half of the best one's score weighs e^-2 of it."""


def log_prior(scores: Sequence[float]) -> Logs:
    """Return log p of each passage, (k,): the softmax of its score, in quarters of the best one.

    The paper's scores are inner products of trained vectors. Fused scores are sums of weighted reciprocals of ranks,
    all below 1, whose plain softmax says next to nothing; only their ratios mean something. Without a positive score
    all passages weigh the same.
    """
    if not scores:
        raise ValueError("there is no passage to weigh")
    best = max(scores)
    return log_softmax(np.array(scores) / best if best > 0 else np.zeros(len(scores)), TEMPERATURE)
