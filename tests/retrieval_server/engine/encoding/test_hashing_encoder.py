"""Vectors without a model."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.engine.encoding.encoder import Encoder, EncodingStopped
from retrieval_server.engine.encoding.hashing_encoder import HashingEncoder

encoder = HashingEncoder()


def cosine(a: str, b: str) -> float:
    first, second = encoder.encode_query(a), encoder.encode_query(b)
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))


def test_it_is_an_encoder():
    checked: Encoder = encoder
    assert checked.encode_windows(["a", "b"]).shape == (2, checked.dimension)


def test_texts_that_share_words_are_nearer_than_those_that_do_not():
    query = "how are berths assigned to ships"
    assert cosine(query, "The harbour master assigns a berth to each ship.") > 0.3
    assert abs(cosine(query, "Lentils need no soaking before they are cooked.")) < 0.15


def test_identifiers_meet_their_parts_and_inflected_words_their_stems():
    assert cosine("open berth gate", "openBerthGate") > 0.7
    assert cosine("assigning berths", "assigned berth") == pytest.approx(1)


def test_function_words_count_little():
    assert cosine("the gate of the harbour", "gate harbour") > 0.9


def test_a_longer_text_has_a_longer_vector():
    short, long = encoder.encode_windows(["gate opens", "gate opens when the berth master signals clearance twice"])
    assert np.linalg.norm(long) > np.linalg.norm(short)


def test_a_vector_is_the_same_in_every_process():
    code = (
        "from retrieval_server.engine.encoding.hashing_encoder import HashingEncoder;"
        "print(HashingEncoder().encode_query('gate berth signals').nonzero()[0].tolist())"
    )
    environment = {"PYTHONHASHSEED": "1"}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert shown.stdout.strip() == str(encoder.encode_query("gate berth signals").nonzero()[0].tolist())


@given(st.lists(st.text(), max_size=5))
def test_any_text_has_a_finite_vector_that_depends_on_it_alone(texts: list[str]):
    together = encoder.encode_windows(texts)
    assert np.isfinite(together).all()
    for row, text in zip(together, texts, strict=True):
        assert (row == encoder.encode_query(text)).all()


def test_what_has_no_terms_is_zeros_and_counts_none():
    assert not encoder.encode_query("… — !").any()
    assert encoder.count_pieces(["", "one two", "…"]) == [0, 2, 0]


def test_encoding_stops_when_told_to():
    with pytest.raises(EncodingStopped):
        encoder.encode_windows(["a"], lambda: True)
