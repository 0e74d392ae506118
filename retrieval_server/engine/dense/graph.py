"""An HNSW graph over the int8 rows of a segment (Malkov & Yashunin 2018, https://arxiv.org/abs/1603.09320), by usearch.

It is built on one thread in the order of the rows: equal rows then make equal graphs. Two threads would halve the time
and make every build another one.
"""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

# Before usearch: its wheel carries parts of libstdc++ that are shared by the whole process, and onnxruntime ends the
# process when those were set up by it and not by the real library, which this loads.
import onnxruntime  # noqa: F401
from numpy.typing import NDArray
from usearch.index import Index

from retrieval_server.engine.dense.quantised import QuantisedQuery

# At 250,000 windows this finds 0.994 of the exact top ten among 512 results, where usearch's usual 16 links and 64
# candidates find 0.979, and takes 40 % longer to build.
_CONNECTIVITY = 24
_EXPANSION_ADD = 96
_EXPANSION_SEARCH = 128
# Between two of these, building can be stopped: well under a second.
_ROWS_PER_STEP = 2000


class GraphCorrupt(Exception):
    """A file is not a graph over these rows."""


class GraphStopped(Exception):
    """`should_stop` became true before the graph was complete."""


class Graph:
    """A complete graph. Thread-safe."""

    def __init__(self, index: Index) -> None:
        self._index = index
        # usearch keeps its buffers by the number of a call's own thread, and every call's first is number 0.
        self._lock = threading.Lock()

    def nearest(self, query: QuantisedQuery, count: int) -> NDArray[np.int64]:
        """Return at most `count` rows that are probably the nearest, nearest first."""
        with self._lock:
            return self._index.search(query.coarse[0], count, threads=1).keys.astype(np.int64)


def build_graph(rows: NDArray[np.int8], path: Path, should_stop: Callable[[], bool]) -> None:
    """Write the graph over (n, dimension) rows to `path`.

    Takes about 8 s of one core for 50,000 rows of 384, rather more than in proportion, and 1 kB of memory a row.

    Raises:
        GraphStopped: `should_stop`, asked several times a second, returned true.
    """
    index = _empty(rows.shape[1])
    for start in range(0, len(rows), _ROWS_PER_STEP):
        if should_stop():
            raise GraphStopped
        step = np.ascontiguousarray(rows[start : start + _ROWS_PER_STEP])
        index.add(np.arange(start, start + len(step), dtype=np.uint64), step, threads=1)
    index.save(str(path))


def open_graph(path: Path, row_count: int, dimension: int) -> Graph:
    """Open a graph as it lies in its file, memory-mapped.

    Raises:
        GraphCorrupt: it is not one over so many rows of that dimension.
    """
    index = _empty(dimension)
    try:
        # usearch 2.26 closes descriptor 0, whatever that is, where a file cannot be opened or is empty.
        with path.open("rb") as file:
            if not file.read(1):
                raise GraphCorrupt(f"{path.name} is empty")
        index.view(str(path))
    except (RuntimeError, ValueError, OSError) as error:
        raise GraphCorrupt(f"{path.name}: {error}") from error
    if len(index) != row_count or index.ndim != dimension:
        raise GraphCorrupt(f"{path.name} has {len(index)} rows of {index.ndim}")
    return Graph(index)


def _empty(dimension: int) -> Index:
    return Index(
        ndim=dimension,
        metric="ip",
        dtype="i8",
        connectivity=_CONNECTIVITY,
        expansion_add=_EXPANSION_ADD,
        expansion_search=_EXPANSION_SEARCH,
        enable_key_lookups=False,
    )
