"""One vector segment as a directory: written whole or not at all, opened memory-mapped.

ids.i64, vectors.f32 and coarse.i8 are rows without headers; segment.json says how many there are and their checksums.
graph.usearch may come later, with graph.json.
"""

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.files.commit_steps import CommitStep, passed
from retrieval_server.corpus.files.durable_json import write_json
from retrieval_server.engine.dense import GraphCorrupt, VectorSegment, open_graph
from retrieval_server.engine.dense.graph_process import build_graph_apart
from retrieval_server.engine.dense.quantised import INT8_MAX, to_int8

Scalar = TypeVar("Scalar", bound=np.generic)

Windows = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Chunk ids, (n,), rising, and vectors, (n, dimension)."""

_IDS, _VECTORS, _COARSE, _RECORD = "ids.i64", "vectors.f32", "coarse.i8", "segment.json"
_GRAPH, _GRAPH_RECORD = "graph.usearch", "graph.json"
_ROWS_PER_STEP = 8192
_CHECKED_BYTES_PER_STEP = 8 * 1024 * 1024


class SegmentCorrupt(Exception):
    """A segment is not as it was written; it has to be made again."""


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """What a segment holds. `scale` and `largest_norm` as in VectorSegment; checksums are CRC-32."""

    window_count: int
    dimension: int
    scale: float
    largest_norm: float
    ids_crc: int
    vectors_crc: int
    coarse_crc: int


def write_segment(directory: Path, dimension: int, windows: Iterable[Windows]) -> None:
    """Write a new segment to `directory`, which is there only when it is complete and on the disk."""
    temporary = directory.with_suffix(".tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        _fill(temporary, dimension, windows)
    except BaseException:
        # A disk that was full would stay so: the next try is made under another name.
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    shutil.rmtree(directory, ignore_errors=True)
    passed(CommitStep.SEGMENT_WRITTEN)
    temporary.rename(directory)
    passed(CommitStep.SEGMENT_PLACED)


def _fill(temporary: Path, dimension: int, windows: Iterable[Windows]) -> None:
    """Write all files of a segment, and wait until they are on the disk."""
    count, ids_crc, vectors_crc = 0, 0, 0
    largest_value, largest_norm = 0.0, 0.0
    with (temporary / _IDS).open("wb") as ids_file, (temporary / _VECTORS).open("wb") as vectors_file:
        for ids, vectors in windows:
            ids_crc = _write(ids_file, ids.astype(np.int64), ids_crc)
            vectors_crc = _write(vectors_file, vectors.astype(np.float32), vectors_crc)
            count += len(ids)
            largest_value = max(largest_value, float(np.abs(vectors).max(initial=0.0)))
            largest_norm = max(largest_norm, float(np.linalg.norm(vectors, axis=1).max(initial=0.0)))
        _sync(ids_file)
        _sync(vectors_file)
    scale = INT8_MAX / largest_value if largest_value > 0 else 1.0
    coarse_crc = 0
    rows = _rows(temporary / _VECTORS, np.float32, count, dimension)
    with (temporary / _COARSE).open("wb") as coarse_file:
        for start in range(0, count, _ROWS_PER_STEP):
            coarse_crc = _write(coarse_file, to_int8(rows[start : start + _ROWS_PER_STEP], scale), coarse_crc)
        _sync(coarse_file)
    record = SegmentRecord(count, dimension, scale, largest_norm, ids_crc, vectors_crc, coarse_crc)
    write_json(temporary / _RECORD, asdict(record))


def open_segment(directory: Path, dimension: int) -> VectorSegment:
    """Open a segment without its graph. Sizes are checked, and checksums by `check_segment`, which reads it all.

    Raises:
        SegmentCorrupt: it is missing, incomplete or of another dimension.
    """
    record = _record(directory)
    count = record.window_count
    if record.dimension != dimension:
        raise SegmentCorrupt(f"{directory.name} has vectors of {record.dimension}")
    ids = _rows(directory / _IDS, np.int64, count, 1)[:, 0]
    if _crc_of(directory / _IDS, _never) != record.ids_crc:
        raise SegmentCorrupt(f"{directory.name}/{_IDS} is damaged")
    vectors = _rows(directory / _VECTORS, np.float32, count, dimension)
    coarse = _rows(directory / _COARSE, np.int8, count, dimension)
    return VectorSegment(ids, vectors, coarse, record.scale, record.largest_norm)


def check_segment(directory: Path, should_stop: Callable[[], bool]) -> None:
    """Read a whole segment. Raises SegmentCorrupt when it is not what was written."""
    record = _record(directory)
    for name, expected in ((_VECTORS, record.vectors_crc), (_COARSE, record.coarse_crc)):
        try:
            crc = _crc_of(directory / name, should_stop)
        except OSError as error:
            raise SegmentCorrupt(f"{directory.name}: {error}") from error
        if crc is not None and crc != expected:
            raise SegmentCorrupt(f"{directory.name}/{name} is damaged")


def with_stored_graph(directory: Path, segment: VectorSegment, should_stop: Callable[[], bool]) -> VectorSegment | None:
    """Return the segment with its graph, or None when it has none that is whole.

    All of the file is checked first: a search that follows damaged links can end the process.
    """
    try:
        expected = json.loads((directory / _GRAPH_RECORD).read_text())
        if _crc_of(directory / _GRAPH, should_stop) != expected["crc"]:
            return None
        return segment.with_graph(open_graph(directory / _GRAPH, *segment.coarse.shape))
    except (OSError, ValueError, LookupError, TypeError, GraphCorrupt):
        return None


def add_graph(directory: Path, segment: VectorSegment, should_stop: Callable[[], bool]) -> VectorSegment:
    """Build the graph of a segment, which takes minutes for a million rows, and return the segment with it.

    Raises:
        GraphStopped: `should_stop` returned true.
    """
    count, dimension = segment.coarse.shape
    temporary = directory / f"{_GRAPH}.tmp"
    try:
        build_graph_apart(directory / _COARSE, count, dimension, temporary, should_stop)
        with temporary.open("rb+") as file:
            _sync(file)
        passed(CommitStep.GRAPH_BUILT)
        (directory / _GRAPH_RECORD).unlink(missing_ok=True)
        temporary.replace(directory / _GRAPH)
        passed(CommitStep.GRAPH_PLACED)
    finally:
        temporary.unlink(missing_ok=True)
    write_json(directory / _GRAPH_RECORD, {"crc": _crc_of(directory / _GRAPH, _never)})
    passed(CommitStep.GRAPH_RECORDED)
    return segment.with_graph(open_graph(directory / _GRAPH, count, dimension))


def _record(directory: Path) -> SegmentRecord:
    try:
        return SegmentRecord(**json.loads((directory / _RECORD).read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise SegmentCorrupt(f"{directory.name}: {error}") from error


def _rows(path: Path, dtype: type[Scalar], count: int, dimension: int) -> NDArray[Scalar]:
    size = count * dimension * np.dtype(dtype).itemsize
    try:
        if path.stat().st_size != size:
            raise SegmentCorrupt(f"{path.parent.name}/{path.name} does not have {size} bytes")
        if count == 0:
            return np.zeros((0, dimension), dtype)
        return np.asarray(np.memmap(path, dtype=dtype, mode="r", shape=(count, dimension)))
    except OSError as error:
        raise SegmentCorrupt(f"{path.parent.name}: {error}") from error


def _write(file: BinaryIO, rows: NDArray[np.generic], crc: int) -> int:
    data = np.ascontiguousarray(rows).tobytes()
    file.write(data)
    return zlib.crc32(data, crc)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _crc_of(path: Path, should_stop: Callable[[], bool]) -> int | None:
    """Return the checksum of a file, or None when told to stop."""
    crc = 0
    with path.open("rb") as file:
        while data := file.read(_CHECKED_BYTES_PER_STEP):
            if should_stop():
                return None
            crc = zlib.crc32(data, crc)
    return crc


def _never() -> bool:
    return False
