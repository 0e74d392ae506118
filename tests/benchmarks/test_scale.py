"""The measurement of scale measures: every figure of its table, on a collection of hundreds of chunks."""

from pathlib import Path

import numpy as np

from benchmarks import scale, scale_steps
from benchmarks.synthetic_corpus import DIMENSION, SyntheticCorpus, SyntheticEncoder

CHUNK_COUNT = 600


def test_every_figure_but_those_of_the_server_is_measured(tmp_path: Path):
    figures = scale_steps.build(tmp_path / "c", "synthetic", CHUNK_COUNT)
    figures |= scale_steps.search(tmp_path / "c", "synthetic")
    assert {name for name, *_ in scale.ROWS} - set(figures) == {
        "start_s",
        "retrieve_p50_ms",
        "retrieve_p99_ms",
        "retrieve_cpu_ms",
    }
    assert figures["exact_recall"] == 1
    shown = scale.table([CHUNK_COUNT], [figures])
    assert len(shown.splitlines()) == len(scale.ROWS) + 1


def test_the_corpus_is_the_same_each_time_and_has_as_many_chunks_as_asked_for():
    def texts(seed: int) -> list[str]:
        changes = SyntheticCorpus(CHUNK_COUNT, seed).changes()
        return [chunk.text for change in changes for document in change.documents for chunk in document.chunks]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)
    assert len(texts(1)) == CHUNK_COUNT


def test_vectors_are_near_within_a_document_less_within_a_topic_and_hardly_otherwise():
    encoder = SyntheticEncoder("synthetic")
    one, document, topic, other = encoder.encode_windows(
        ["topic1_doc1_part1", "topic1_doc1_part2", "topic1_doc2_part1", "topic2_doc3_part1"]
    )
    assert one @ document > one @ topic > one @ other
    assert one.shape == (DIMENSION,)
    assert np.linalg.norm(one) == np.float32(1) or abs(np.linalg.norm(one) - 1) < 1e-5
