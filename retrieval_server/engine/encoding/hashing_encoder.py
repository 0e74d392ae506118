"""Texts to vectors without a model: hashed counts of their terms, for an install that downloads nothing.

Feature hashing with signs (Weinberger et al. 2009, https://arxiv.org/abs/0902.2206): each index term has a place and a
sign that follow from its letters, and adds weight · (1 + ln count) there. There is no document frequency in it, so a
vector depends on its text alone and stays right when the collection changes; function words count little instead.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.encoding.encoder import EncodingStopped
from retrieval_server.engine.words.analyser import ANALYSER_VERSION, analyse_terms
from retrieval_server.engine.words.stop_words import STOP_TERMS

# Two texts that share nothing have a cosine of about 0 ± 1/√dimension.
_DIMENSION = 1024
_STOP_TERM_WEIGHT = 0.3
_VERSION = 1
_MAX_KNOWN_TERMS = 200_000


class HashingEncoder:
    """Satisfies engine.encoder.Encoder. Vectors are not of unit length: under DOT, long texts score higher."""

    dimension = _DIMENSION
    fingerprint = f"hashing-{_VERSION}-{_DIMENSION}-analyser-{ANALYSER_VERSION}"

    def encode_query(self, text: str, *, is_alone: bool = False) -> NDArray[np.float32]:
        """Return the text's vector, (1024,) float32; zeros for a text without terms."""
        del is_alone  # there is nothing to share
        vector = np.zeros(_DIMENSION, np.float32)
        for term, count in Counter(analyse_terms(text)).items():
            place, value = _place_and_value(term)
            vector[place] += value * (1 + math.log(count))
        return vector

    def encode_windows(
        self, texts: Sequence[str], should_stop: Callable[[], bool] | None = None
    ) -> NDArray[np.float32]:
        """Return the texts' vectors, (n_texts, 1024) float32.

        Raises:
            EncodingStopped: `should_stop`, asked before each text, returned true.
        """
        vectors = np.zeros((len(texts), _DIMENSION), np.float32)
        for row, text in enumerate(texts):
            if should_stop is not None and should_stop():
                raise EncodingStopped
            vectors[row] = self.encode_query(text)
        return vectors

    def count_pieces(self, texts: Sequence[str]) -> list[int]:
        """Return how many terms each text has."""
        return [len(analyse_terms(text)) for text in texts]

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


@lru_cache(_MAX_KNOWN_TERMS)
def _place_and_value(term: str) -> tuple[int, float]:
    # Not Python's hash, which is another one in every process.
    number = int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "little")
    weight = _STOP_TERM_WEIGHT if term in STOP_TERMS else 1.0
    return (number >> 1) % _DIMENSION, weight if number & 1 else -weight
