"""Segments are bettered in the background, and views change by it in nothing but their speed."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.corpus.vectors import dense_segments, dense_upkeep
from retrieval_server.corpus.vectors.dense_manifest import VectorsOf
from retrieval_server.corpus.vectors.dense_segments import DenseSegments, WritingStopped
from retrieval_server.corpus.vectors.dense_upkeep import Step, first_to_merge, next_step
from retrieval_server.engine.dense import GraphStopped
from tests.retrieval_server.corpus.dense_support import DIMENSION, Corpus
from tests.retrieval_server.engine.dense.support import is_approximate

GRAPH_FROM = 1900


class Holds:
    """Counts who holds rows."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def _held(self) -> Iterator[None]:
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1

    def __call__(self) -> AbstractContextManager[None]:
        return self._held()


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dense_segments, "_MAX_CHUNKS_IN_MEMORY", 100)
    monkeypatch.setattr(dense_upkeep, "GRAPH_MIN_WINDOWS", GRAPH_FROM)


@pytest.fixture
def holds() -> Iterator[Holds]:
    holds = Holds()
    yield holds
    assert holds.count == 0


def step_of(dense: DenseSegments, corpus: Corpus, holds: Holds) -> Step | None:
    return next_step(dense, corpus.living_ids, corpus.generation, holds)


def better_all(dense: DenseSegments, corpus: Corpus, holds: Holds) -> list[str]:
    names = []
    while step := step_of(dense, corpus, holds):
        step.run(lambda: False)()
        names.append(step.name)
    return names


@given(st.lists(st.tuples(st.integers(0, 10**6), st.floats(0, 1)), max_size=20))
def test_merging_the_newest_segments_again_and_again_comes_to_an_end(segments: list[tuple[int, float]]):
    counts, dead = [count for count, _ in segments], [share for _, share in segments]
    for _ in range(len(segments) + 1):
        first = first_to_merge(counts, dead)
        if first is None:
            break
        counts = [*counts[:first], round(sum(c * (1 - d) for c, d in zip(counts[first:], dead[first:], strict=True)))]
        dead = [*dead[:first], 0.0]
    assert first_to_merge(counts, dead) is None
    assert len(counts) <= 6


def test_a_large_segment_is_not_rewritten_for_small_ones():
    assert first_to_merge([10**6, 4000, 4000, 4000, 4000, 4000, 4000], [0.0] * 7) == 1
    assert first_to_merge([10**6, 4000], [0.0, 0.0]) is None
    assert first_to_merge([10**6, 4000, 10], [0.0, 0.3, 0.0]) == 1


def test_many_segments_become_few_and_views_stay_the_same(tmp_path: Path, holds: Holds):
    corpus = Corpus()
    dense = corpus.open(tmp_path)
    for _ in range(8):
        corpus.add(110)
        dense.view(corpus.living_ids, corpus.generation)
    corpus.add(20)
    assert len(dense.segments) == 8
    assert better_all(dense, corpus, holds) == ["merge"]
    assert len(dense.segments) == 1
    corpus.assert_finds_all(dense.view(corpus.living_ids, corpus.generation))
    again = corpus.open(tmp_path)
    corpus.assert_finds_all(again.view(corpus.living_ids, corpus.generation))


def test_what_died_is_given_back(tmp_path: Path, holds: Holds):
    corpus = Corpus()
    corpus.add(400)
    dense = corpus.open(tmp_path)
    dense.view(corpus.living_ids, corpus.generation)
    corpus.remove(0.5)
    assert better_all(dense, corpus, holds) == ["merge"]
    assert set(dense.segments[0].segment.chunk_ids.tolist()) <= set(corpus.living_ids.tolist())
    corpus.remove(1.0)
    assert better_all(dense, corpus, holds) == ["merge"]
    assert dense.segments == ()
    assert dense.view(corpus.living_ids, corpus.generation).search(np.ones(DIMENSION, np.float32), 5) == []
    corpus.add(5)
    corpus.assert_finds_all(dense.view(corpus.living_ids, corpus.generation))


def test_changes_during_a_merge_are_kept(tmp_path: Path, holds: Holds):
    corpus = Corpus()
    dense = corpus.open(tmp_path)
    for _ in range(7):
        corpus.add(110)
        dense.view(corpus.living_ids, corpus.generation)
    step = step_of(dense, corpus, holds)
    assert step is not None
    corpus_before = corpus.living_ids
    adopt = step.run(lambda: False)
    corpus.add(150)
    dense.view(corpus.living_ids, corpus.generation)
    corpus.add(10)
    dense.view(corpus.living_ids, corpus.generation)
    assert adopt()
    assert len(corpus.living_ids) > len(corpus_before)
    assert len(dense.segments) == 2
    corpus.assert_finds_all(dense.view(corpus.living_ids, corpus.generation))
    corpus.assert_finds_all(corpus.open(tmp_path).view(corpus.living_ids, corpus.generation))


def test_a_merge_stops_when_told_to_and_leaves_all_as_it_was(tmp_path: Path, holds: Holds):
    corpus = Corpus()
    corpus.add(400)
    dense = corpus.open(tmp_path)
    dense.view(corpus.living_ids, corpus.generation)
    corpus.remove(0.5)
    step = step_of(dense, corpus, holds)
    assert step is not None
    with pytest.raises(WritingStopped):
        step.run(lambda: True)
    corpus.assert_finds_all(dense.view(corpus.living_ids, corpus.generation))


@pytest.mark.parametrize("name", ["vectors.f32", "coarse.i8"])
def test_damage_that_sizes_do_not_show_is_found_and_mended(tmp_path: Path, holds: Holds, name: str):
    corpus = Corpus()
    corpus.add(300)
    corpus.open(tmp_path).view(corpus.living_ids, corpus.generation)
    (path,) = tmp_path.glob(f"*/{name}")
    data = bytearray(path.read_bytes())
    data[100] ^= 64
    path.write_bytes(data)
    dense = corpus.open(tmp_path)
    dense.view(corpus.living_ids, corpus.generation)
    assert better_all(dense, corpus, holds) == ["check"]
    corpus.assert_finds_all(dense.view(corpus.living_ids, corpus.generation))


def test_what_is_found_damaged_is_read_again_beside_what_came_after_it(tmp_path: Path, holds: Holds):
    corpus = Corpus()
    corpus.add(150)
    corpus.open(tmp_path).view(corpus.living_ids, corpus.generation)
    corpus.remove(0.5)
    corpus.add(10)
    (path,) = tmp_path.glob("*/coarse.i8")
    path.write_bytes(bytes(path.stat().st_size))
    dense = corpus.open(tmp_path)
    dense.view(corpus.living_ids, corpus.generation)
    assert better_all(dense, corpus, holds) == ["check"]
    assert dense.segments == ()
    corpus.assert_finds_all(dense.view(corpus.living_ids, corpus.generation))


def test_a_large_segment_gets_a_graph_that_is_there_again_after_a_restart(tmp_path: Path, holds: Holds):
    corpus = Corpus()
    corpus.add(1200)
    dense = corpus.open(tmp_path)
    assert not is_approximate(dense.view(corpus.living_ids, corpus.generation))
    assert better_all(dense, corpus, holds) == ["graph"]
    assert is_approximate(dense.view(corpus.living_ids, corpus.generation))
    again = corpus.open(tmp_path)
    # Not before its checksum was found right: damaged links can end the process.
    assert not is_approximate(again.view(corpus.living_ids, corpus.generation))
    assert better_all(again, corpus, holds) == ["check"]
    assert is_approximate(again.view(corpus.living_ids, corpus.generation))


def test_a_damaged_graph_is_built_again(tmp_path: Path, holds: Holds):
    corpus = Corpus()
    corpus.add(1200)
    dense = corpus.open(tmp_path)
    dense.view(corpus.living_ids, corpus.generation)
    better_all(dense, corpus, holds)
    (path,) = tmp_path.glob("*/graph.usearch")
    data = bytearray(path.read_bytes())
    data[-100] ^= 255
    path.write_bytes(data)
    again = corpus.open(tmp_path)
    again.view(corpus.living_ids, corpus.generation)
    assert better_all(again, corpus, holds) == ["check", "graph"]


def test_a_graph_is_not_built_to_its_end_when_it_is_not_wanted(tmp_path: Path, holds: Holds):
    corpus = Corpus()
    corpus.add(1200)
    dense = corpus.open(tmp_path)
    dense.view(corpus.living_ids, corpus.generation)
    step = step_of(dense, corpus, holds)
    assert step is not None
    with pytest.raises(GraphStopped):
        step.run(lambda: True)
    assert sorted(path.name for path in tmp_path.glob("*/graph*")) == []


def test_long_vectors_are_searched_exactly_whatever_their_number(tmp_path: Path, holds: Holds):
    corpus = Corpus()
    corpus.add(1200)
    dense = corpus.open(tmp_path, VectorsOf("some-encoder/1", DIMENSION, "dot"))
    dense.view(corpus.living_ids, corpus.generation)
    assert better_all(dense, corpus, holds) == []


def test_a_merge_that_no_manifest_comes_to_name_leaves_nothing(
    tmp_path: Path, holds: Holds, monkeypatch: pytest.MonkeyPatch
):
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    corpus = Corpus()
    dense = corpus.open(tmp_path)
    corpus.add(200)
    dense.view(corpus.living_ids, corpus.generation)
    corpus.remove(0.5)
    before = sorted(tmp_path.iterdir())
    step = step_of(dense, corpus, holds)
    assert step is not None
    assert step.name == "merge"
    adopt = step.run(lambda: False)
    monkeypatch.setattr(dense_segments, "write_manifest", no_space)
    with pytest.raises(OSError, match="No space"):
        adopt()
    assert sorted(tmp_path.iterdir()) == before
