"""A corpus of vectors alone: what `corpus.sqlite` holds for the dense segments, in a dictionary."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.vectors.dense_manifest import VectorsOf
from retrieval_server.corpus.vectors.dense_segments import DenseSegments
from retrieval_server.corpus.vectors.segment_files import Windows
from retrieval_server.engine.dense import DenseView, Similarity, VectorSegment
from tests.retrieval_server.engine.dense.support import clustered

DIMENSION = 24
VECTORS_OF = VectorsOf("some-encoder/1", DIMENSION, "cosine")


class Corpus:
    """Chunks get rising ids and 1 to 3 windows each, every tenth none; those that die are forgotten."""

    def __init__(self, seed: int = 3) -> None:
        self._vectors = clustered(20_000, DIMENSION, seed, cluster_size=300)
        self._random = np.random.default_rng(seed)
        self._windows: dict[int, NDArray[np.float32]] = {}
        self._last_id = 0
        self.generation = 0
        self.read_ids: list[int] = []

    def add(self, chunk_count: int) -> None:
        for _ in range(chunk_count):
            self._last_id += int(self._random.integers(1, 4))
            count = 0 if self._last_id % 10 == 0 else int(self._random.integers(1, 4))
            self._windows[self._last_id] = self._vectors[self._random.integers(0, len(self._vectors), count)]
        self.generation += 1

    def remove(self, share: float) -> None:
        for chunk_id in list(self._windows):
            if self._random.random() < share:
                del self._windows[chunk_id]
        self.generation += 1

    @property
    def living_ids(self) -> NDArray[np.int64]:
        return np.array(sorted(self._windows), dtype=np.int64)

    def windows_of(self, chunk_ids: NDArray[np.int64], dimension: int) -> Windows:
        self.read_ids += chunk_ids.tolist()
        ids = [i for i in chunk_ids.tolist() for _ in self._windows.get(i, ())]
        rows = [vector for i in chunk_ids.tolist() for vector in self._windows.get(i, ())]
        return np.array(ids, np.int64), np.array(rows, np.float32).reshape(len(rows), dimension)

    def open(self, directory: Path, vectors_of: VectorsOf = VECTORS_OF) -> DenseSegments:
        return DenseSegments(directory, vectors_of, self, self.generation)

    def fresh_view(self) -> DenseView:
        """Return a view that was made of all that lives at once."""
        ids, vectors = self.windows_of(self.living_ids, DIMENSION)
        return DenseView([VectorSegment.of_vectors(Similarity.COSINE.prepared(vectors), ids)])

    def assert_finds_all(self, view: DenseView) -> None:
        fresh = self.fresh_view()
        for query in self._vectors[:: len(self._vectors) // 8]:
            assert view.search(query, 15) == fresh.search(query, 15)
