"""The vectors of a collection: immutable segments on disk and the newest windows in memory.

All of it is derived from `corpus.sqlite`. Chunk ids only grow, and vectors are shown only while no living chunk lacks
its own; so "everything up to chunk n" says what a segment covers, and what comes behind the last segment is read again
when the collection is opened. What died is left out by the living chunks of each view: nothing on disk has to follow.
"""

import errno
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.files.commit_steps import CommitStep, passed
from retrieval_server.corpus.vectors.dense_manifest import SegmentEntry, VectorsOf, read_manifest, write_manifest
from retrieval_server.corpus.vectors.segment_files import SegmentCorrupt, Windows, open_segment, write_segment
from retrieval_server.engine.dense import DenseView, Similarity, VectorSegment
from retrieval_server.engine.places.chunk_set import ChunkSet

# Windows of more new chunks than this go to the disk; until then an update copies a few MB and writes nothing.
_MAX_CHUNKS_IN_MEMORY = 4096
_CHUNKS_PER_READ = 2000


class WritingStopped(Exception):
    """A segment was not written to its end, since it is not wanted any more."""


class StoredWindows(Protocol):
    """Where windows are read from, on any thread."""

    def windows_of(self, chunk_ids: NDArray[np.int64], dimension: int) -> Windows:
        """Return the windows of chunks, (n,) int64, rising, in that order; chunks without windows have none."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenSegment:
    """A segment of the manifest, opened; `is_checked` once its checksums were found right."""

    entry: SegmentEntry
    segment: VectorSegment
    is_checked: bool = False


class DenseSegments:
    """The writing side: one thread at a time. Views that were given out stay as they are."""

    def __init__(self, directory: Path, vectors_of: VectorsOf, windows: StoredWindows, newest_generation: int) -> None:
        self.directory = directory
        self.similarity = Similarity(vectors_of.similarity)
        self.dimension = vectors_of.dimension
        self._vectors_of = vectors_of
        self._windows = windows
        self._being_written: set[str] = set()
        directory.mkdir(parents=True, exist_ok=True)
        entries = read_manifest(directory, vectors_of, newest_generation)
        self._segments = self._opened(entries)
        self._remove_others(tuple(opened.entry for opened in self._segments))
        self._newest: VectorSegment | None = None
        # It holds what comes behind the one chunk, up to the other.
        self._newest_after, self._newest_through = 0, 0

    @property
    def segments(self) -> tuple[OpenSegment, ...]:
        """The segments on disk, in the order of their chunks."""
        return self._segments

    @property
    def through_chunk_id(self) -> int:
        """The last chunk that the segments on disk cover."""
        return self._segments[-1].entry.through_chunk_id if self._segments else 0

    def view(self, living_ids: NDArray[np.int64], generation: int) -> DenseView:
        """Return the vectors of the living chunks, (n,) int64, rising; none of them may lack its vectors.

        Raises:
            OSError: windows could not be written, or not be read again.
        """
        behind = living_ids[np.searchsorted(living_ids, self.through_chunk_id, side="right") :]
        if len(behind) > _MAX_CHUNKS_IN_MEMORY:
            name = self.write(behind)
            with self.removing_unless_placed(name):
                try:
                    segment = open_segment(self.directory / name, self.dimension)
                except SegmentCorrupt as error:  # it has just been written: the machine lacks files or a sound disk
                    raise OSError(errno.EIO, str(error)) from error
                added = OpenSegment(SegmentEntry(name, int(behind[-1])), segment, is_checked=True)
                self.set_segments((*self._segments, added), generation)
            behind = behind[:0]
        self._follow(behind)
        newest = [self._newest] if self._newest is not None else []
        on_disk = [opened.segment for opened in self._segments]
        return DenseView([*on_disk, *newest], ChunkSet(living_ids), self.similarity)

    def write(self, chunk_ids: NDArray[np.int64], should_stop: Callable[[], bool] = lambda: False) -> str:
        """Write the windows of chunks as a new segment, on any thread, and return its name; it is in no view yet.

        Raises:
            WritingStopped: `should_stop`, asked many times a second, returned true.
        """
        name = secrets.token_hex(8)
        self._being_written.add(name)
        try:
            write_segment(self.directory / name, self.dimension, self._read_in_steps(chunk_ids, should_stop))
        except BaseException:
            self._being_written.discard(name)
            raise
        return name

    @contextmanager
    def removing_unless_placed(self, name: str) -> Iterator[None]:
        """Remove what `write` made when the block fails before a manifest names it: it may be tried many times."""
        try:
            yield
        except BaseException:
            if name in self._being_written:
                self._being_written.discard(name)
                shutil.rmtree(self.directory / name, ignore_errors=True)
            raise

    def set_segments(self, segments: tuple[OpenSegment, ...], generation: int) -> None:
        """Let other segments stand for the collection, as of a generation that is committed."""
        entries = tuple(opened.entry for opened in segments)
        write_manifest(self.directory, self._vectors_of, generation, entries)
        self._being_written.difference_update(entry.name for entry in entries)
        self._segments = segments
        self._remove_others(entries)
        passed(CommitStep.OLD_SEGMENTS_REMOVED)

    def replaced(self, old: OpenSegment, segment: VectorSegment) -> None:
        """Let an equal segment, which is searched in another way, stand for `old`, which was checked."""
        self._segments = tuple(
            replace(opened, segment=segment, is_checked=True) if opened.entry == old.entry else opened
            for opened in self._segments
        )

    def _follow(self, behind: NDArray[np.int64]) -> None:
        """Make the newest windows those of the living chunks behind the last segment."""
        if not len(behind):
            self._newest = None
            return
        known = self._newest
        unread = behind
        if known is not None and self._newest_after == self.through_chunk_id:
            unread = behind[np.searchsorted(behind, self._newest_through, side="right") :]
            if not len(unread):
                return
        ids, vectors = self._read(unread)
        if known is not None and len(unread) < len(behind):
            lives = ChunkSet(behind).mask(known.window_chunk_ids)
            ids = np.concatenate((known.window_chunk_ids[lives], ids))
            vectors = np.concatenate((known.vectors[lives], vectors))
        self._newest = VectorSegment.of_vectors(vectors, ids)
        self._newest_after, self._newest_through = self.through_chunk_id, int(behind[-1])

    def _read(self, chunk_ids: NDArray[np.int64]) -> Windows:
        ids, vectors = self._windows.windows_of(chunk_ids, self.dimension)
        return ids, self.similarity.prepared(vectors)

    def _read_in_steps(self, chunk_ids: NDArray[np.int64], should_stop: Callable[[], bool]) -> Iterator[Windows]:
        for start in range(0, len(chunk_ids), _CHUNKS_PER_READ):
            if should_stop():
                raise WritingStopped
            yield self._read(chunk_ids[start : start + _CHUNKS_PER_READ])

    def _opened(self, entries: tuple[SegmentEntry, ...]) -> tuple[OpenSegment, ...]:
        """Open segments up to the first that is damaged: what it and those behind it covered is read again."""
        opened: list[OpenSegment] = []
        for entry in entries:
            try:
                opened.append(OpenSegment(entry, open_segment(self.directory / entry.name, self.dimension)))
            except SegmentCorrupt:
                break
        return tuple(opened)

    def _remove_others(self, entries: tuple[SegmentEntry, ...]) -> None:
        """Remove what no manifest names: what was replaced, and what a death left half done."""
        names = {entry.name for entry in entries} | self._being_written
        for path in self.directory.iterdir():
            if path.is_dir() and path.stem not in names:
                shutil.rmtree(path, ignore_errors=True)
