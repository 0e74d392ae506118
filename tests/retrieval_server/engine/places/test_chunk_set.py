"""Sets of chunks."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.engine.places.chunk_set import ChunkSet

ids = st.lists(st.integers(1, 10**7), max_size=60)


@given(ids, ids)
def test_a_mask_says_of_each_id_whether_it_is_in_the_set(members: list[int], asked: list[int]):
    mask = ChunkSet(members).mask(np.array(asked, dtype=np.int64))
    assert mask.tolist() == [chunk_id in set(members) for chunk_id in asked]


@given(ids)
def test_ids_are_kept_once_and_rising(members: list[int]):
    chunks = ChunkSet(members)
    assert chunks.chunk_ids.tolist() == sorted(set(members))
    assert len(chunks) == len(set(members))


def test_a_mask_of_many_ids_is_made_once():
    asked = np.arange(10_000, dtype=np.int64)
    chunks = ChunkSet(range(0, 10_000, 7))
    assert chunks.mask(asked) is chunks.mask(asked)
    assert chunks.mask(asked.copy()) is not chunks.mask(asked)


def test_neither_the_set_nor_its_masks_can_be_written_to():
    given_ids = np.array([3, 5], dtype=np.int64)
    chunks = ChunkSet(given_ids)
    assert not chunks.chunk_ids.flags.writeable
    assert given_ids.flags.writeable
    assert not chunks.mask(np.array([3], dtype=np.int64)).flags.writeable
