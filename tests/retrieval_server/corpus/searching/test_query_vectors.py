"""Vectors of queries are worked out once, whoever asks."""

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.searching.query_vectors import QueryVectors
from retrieval_server.metrics import CacheCounts
from tests.retrieval_server.corpus.support import WordHashEncoder


class WatchedEncoder(WordHashEncoder):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, bool]] = []

    def encode_query(self, text: str, *, is_alone: bool = False) -> NDArray[np.float32]:
        self.asked.append((text, is_alone))
        return super().encode_query(text)


def test_what_one_way_has_encoded_the_other_remembers():
    encoder = WatchedEncoder()
    vectors = QueryVectors(encoder, max_count=8)
    first = vectors.of_lone("tide")
    assert vectors.of("tide") is first
    vectors.of("gate")
    assert encoder.asked == [("tide", True), ("gate", False)]
    assert vectors.counts == CacheCounts(1, 2)


def test_what_was_asked_longest_ago_is_forgotten_first():
    encoder = WatchedEncoder()
    vectors = QueryVectors(encoder, max_count=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        vectors.of(text)
    assert [text for text, _ in encoder.asked] == ["a", "b", "c", "b"]


def test_nothing_is_remembered_where_nothing_is_to_be():
    encoder = WatchedEncoder()
    vectors = QueryVectors(encoder, max_count=0)
    vectors.of("a")
    vectors.of("a")
    assert len(encoder.asked) == 2
