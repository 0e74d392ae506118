"""Vectors on disk: views equal fresh ones whatever happened before, and nothing is read twice without need."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrieval_server.corpus.vectors import dense_segments, segment_files
from retrieval_server.corpus.vectors.dense_manifest import VectorsOf
from tests.retrieval_server.corpus.dense_support import DIMENSION, VECTORS_OF, Corpus


@pytest.fixture(autouse=True)
def _small_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dense_segments, "_MAX_CHUNKS_IN_MEMORY", 100)
    monkeypatch.setattr(dense_segments, "_CHUNKS_PER_READ", 70)


_STEPS = st.lists(st.one_of(st.integers(0, 250), st.floats(0, 1), st.just("reopen")), max_size=8)


@given(steps=_STEPS, seed=st.integers(0, 5))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_view_equals_a_fresh_one_after_any_changes_and_restarts(
    tmp_path: Path, steps: list[int | float | str], seed: int
):
    corpus, directory = Corpus(seed), tmp_path / "dense"
    shutil.rmtree(directory, ignore_errors=True)
    dense = corpus.open(directory)
    for step in steps:
        if isinstance(step, int):
            corpus.add(step)
        elif isinstance(step, float):
            corpus.remove(step)
        else:
            dense = corpus.open(directory)
        corpus.assert_finds_all(dense.view(corpus.living_ids, corpus.generation))


def test_a_small_change_reads_and_writes_nothing_but_what_is_new(tmp_path: Path):
    corpus = Corpus()
    dense = corpus.open(tmp_path)
    corpus.add(500)
    dense.view(corpus.living_ids, corpus.generation)
    files = sorted(tmp_path.rglob("*"))
    for _ in range(5):
        before = set(corpus.living_ids.tolist())
        corpus.add(3)
        corpus.read_ids.clear()
        dense.view(corpus.living_ids, corpus.generation)
        assert set(corpus.read_ids) == set(corpus.living_ids.tolist()) - before
    corpus.read_ids.clear()
    corpus.remove(0.5)
    dense.view(corpus.living_ids, corpus.generation)
    assert corpus.read_ids == []
    assert sorted(tmp_path.rglob("*")) == files


def test_opening_reads_only_what_came_after_the_last_segment(tmp_path: Path):
    corpus = Corpus()
    corpus.add(500)
    dense = corpus.open(tmp_path)
    dense.view(corpus.living_ids, corpus.generation)
    through = dense.through_chunk_id
    corpus.add(20)
    corpus.read_ids.clear()
    again = corpus.open(tmp_path)
    again.view(corpus.living_ids, corpus.generation)
    assert corpus.read_ids == [i for i in corpus.living_ids.tolist() if i > through]


def test_a_view_stays_as_it_is_when_its_segments_are_replaced(tmp_path: Path):
    corpus = Corpus()
    corpus.add(500)
    dense = corpus.open(tmp_path)
    view = dense.view(corpus.living_ids, corpus.generation)
    query = corpus.fresh_view().search
    vector = corpus.windows_of(corpus.living_ids[:1], DIMENSION)[1][0]
    expected = query(vector, 30)
    dense.set_segments((), corpus.generation)
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    assert view.search(vector, 30) == expected


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("segments.json", Path.unlink),
        ("segments.json", _cut),
        ("*/segment.json", Path.unlink),
        ("*/segment.json", _cut),
        ("*/ids.i64", _flip),
        ("*/ids.i64", Path.unlink),
        ("*/vectors.f32", _cut),
        ("*/vectors.f32", Path.unlink),
        ("*/coarse.i8", _cut),
    ],
)
def test_what_is_missing_or_damaged_is_made_again(tmp_path: Path, name: str, damage):
    corpus = Corpus()
    dense = corpus.open(tmp_path)
    for _ in range(3):
        corpus.add(300)
        dense.view(corpus.living_ids, corpus.generation)
    damage(min(tmp_path.glob(name)))
    again = corpus.open(tmp_path)
    corpus.assert_finds_all(again.view(corpus.living_ids, corpus.generation))
    corpus.read_ids.clear()
    corpus.open(tmp_path).view(corpus.living_ids, corpus.generation)
    assert corpus.read_ids == []


@pytest.mark.parametrize(
    "other",
    [
        VectorsOf("another-encoder/1", DIMENSION, "cosine"),
        VectorsOf("some-encoder/1", DIMENSION, "dot"),
    ],
)
def test_vectors_of_another_encoder_or_similarity_are_never_used(tmp_path: Path, other: VectorsOf):
    corpus = Corpus()
    corpus.add(300)
    corpus.open(tmp_path, other).view(corpus.living_ids, corpus.generation)
    assert corpus.open(tmp_path).segments == ()
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_segments_of_a_later_state_than_the_corpus_are_not_used(tmp_path: Path):
    """A copy of an earlier `corpus.sqlite` was put back beside them."""
    corpus = Corpus()
    corpus.add(300)
    corpus.open(tmp_path).view(corpus.living_ids, corpus.generation + 1)
    assert corpus.open(tmp_path).segments == ()


def test_a_segment_that_a_death_left_half_written_is_removed(tmp_path: Path):
    corpus = Corpus()
    corpus.add(300)
    corpus.open(tmp_path).view(corpus.living_ids, corpus.generation)
    (tmp_path / "0123456789abcdef.tmp").mkdir()
    (tmp_path / "fedcba9876543210").mkdir()
    names = [entry["name"] for entry in json.loads((tmp_path / "segments.json").read_text())["segments"]]
    corpus.open(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == sorted(names)


def test_cosine_stores_directions_and_dot_lengths_as_well(tmp_path: Path):
    corpus = Corpus()
    corpus.add(150)
    vector = corpus.windows_of(corpus.living_ids[:1], DIMENSION)[1][0]
    for chunk_id in corpus.living_ids.tolist():
        corpus._windows[chunk_id] = corpus._windows[chunk_id] * 3
    cosine = corpus.open(tmp_path / "cosine").view(corpus.living_ids, 1)
    dot = corpus.open(tmp_path / "dot", VectorsOf(VECTORS_OF.encoder, DIMENSION, "dot")).view(corpus.living_ids, 1)
    assert cosine.search(vector, 1)[0][1] == pytest.approx(1, abs=1e-5)
    assert dot.search(vector, 1)[0][1] == pytest.approx(3, abs=1e-4)


@pytest.mark.parametrize(("module", "function"), [(segment_files, "write_json"), (dense_segments, "write_manifest")])
def test_what_fails_leaves_nothing_on_a_disk_that_may_be_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: object, function: str
):
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    corpus = Corpus()
    corpus.add(300)
    dense = corpus.open(tmp_path)
    with monkeypatch.context() as full_disk:
        full_disk.setattr(module, function, no_space)
        for _ in range(3):
            with pytest.raises(OSError, match="No space"):
                dense.view(corpus.living_ids, corpus.generation)
            assert [path for path in tmp_path.iterdir() if path.is_dir()] == []
    corpus.assert_finds_all(dense.view(corpus.living_ids, corpus.generation))
