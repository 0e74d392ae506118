"""What makes vector segments better in the background: checked, merged, and searched through a graph.

Each step is chosen and adopted on the writer thread and carried out on another one; meanwhile searches and updates go
on. A step that a death interrupts leaves a directory that no manifest names.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.vectors.dense_manifest import SegmentEntry
from retrieval_server.corpus.vectors.dense_segments import DenseSegments, OpenSegment
from retrieval_server.corpus.vectors.segment_files import (
    SegmentCorrupt,
    add_graph,
    check_segment,
    open_segment,
    with_stored_graph,
)
from retrieval_server.engine.dense import Similarity, VectorSegment
from retrieval_server.engine.places.chunk_set import ChunkSet

# Here a scan takes 4 ms and a graph 2 (benchmarks/scale.py); below, a graph is not worth building.
GRAPH_MIN_WINDOWS = 200_000
# An update searches each segment; merging them costs what they hold.
_MAX_SEGMENTS = 6
_MAX_DEAD_SHARE = 0.25
_KEPT_SIZE_RATIO = 3

Hold = Callable[[], AbstractContextManager[object]]
ShouldStop = Callable[[], bool]
Adopt = Callable[[], bool]
"""Runs on the writer thread; returns whether views change by it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of work: `run`, once, on any thread; it returns what is left to do on the writer thread.

    `run` raises WritingStopped or GraphStopped when it was told to stop.
    """

    name: str
    run: Callable[[ShouldStop], Adopt]


def next_step(
    dense: DenseSegments,
    living_ids: NDArray[np.int64],
    generation: int,
    hold: Callable[[], AbstractContextManager[object]],
) -> Step | None:
    """Return what is worth doing next. `hold` keeps the rows of the living chunks, of the newest view, in place."""
    for opened in dense.segments:
        if not opened.is_checked:
            return Step("check", partial(_check, dense, opened, generation))
    living = ChunkSet(living_ids)
    counts = [opened.segment.window_count for opened in dense.segments]
    first = first_to_merge(counts, [_dead_share(opened.segment, living) for opened in dense.segments])
    if first is not None:
        held = ExitStack()
        held.enter_context(hold())
        return Step("merge", partial(_merge, dense, dense.segments[first:], living_ids, generation, held))
    for opened in dense.segments:
        if needs_graph(opened.segment, dense.similarity):
            return Step("graph", partial(_add_graph, dense, opened))
    return None


def needs_graph(segment: VectorSegment, similarity: Similarity) -> bool:
    """Tell whether a segment is large enough for a graph and has none. Graphs lead astray among long vectors."""
    return similarity is Similarity.COSINE and segment.graph is None and segment.window_count >= GRAPH_MIN_WINDOWS


def first_to_merge(window_counts: Sequence[int], dead_shares: Sequence[float]) -> int | None:
    """Return the first of the newest segments that are to become one, or None.

    A segment that holds much that died is rewritten, with all that came after it. When there are many, the newest are
    merged, up to the first that is much larger than those behind it together: so each window is rewritten few times.
    """
    for index, share in enumerate(dead_shares):
        if share > _MAX_DEAD_SHARE:
            return index
    if len(window_counts) <= _MAX_SEGMENTS:
        return None
    first = len(window_counts) - 2
    while first > 0 and window_counts[first - 1] <= _KEPT_SIZE_RATIO * sum(window_counts[first:]):
        first -= 1
    return first


def _dead_share(segment: VectorSegment, living: ChunkSet) -> float:
    return 1 - float(np.mean(living.mask(segment.chunk_ids))) if segment.window_count else 0.0


def _check(dense: DenseSegments, opened: OpenSegment, generation: int, should_stop: ShouldStop) -> Adopt:
    directory = dense.directory / opened.entry.name
    try:
        check_segment(directory, should_stop)
    except SegmentCorrupt:
        kept = dense.segments[: dense.segments.index(opened)]
        # What it covered, and what came after it, is read again for the next view.
        return lambda: _set(dense, kept, generation)
    found = None
    if needs_graph(opened.segment, dense.similarity):
        found = with_stored_graph(directory, opened.segment, should_stop)
    return lambda: _replace(dense, opened, found or opened.segment)


def _merge(
    dense: DenseSegments,
    merged: tuple[OpenSegment, ...],
    living_ids: NDArray[np.int64],
    generation: int,
    held: ExitStack,
    should_stop: ShouldStop,
) -> Adopt:
    before = dense.segments[: dense.segments.index(merged[0])]
    start = before[-1].entry.through_chunk_id if before else 0
    through = merged[-1].entry.through_chunk_id
    low, high = np.searchsorted(living_ids, [start, through], side="right")
    with held:
        if low == high:
            return lambda: _set(dense, (*before, *_behind(dense, before, merged)), generation)
        name = dense.write(living_ids[low:high], should_stop)
    with dense.removing_unless_placed(name):
        segment = open_segment(dense.directory / name, dense.dimension)
    entry = SegmentEntry(name, through)

    def adopt() -> bool:
        one = OpenSegment(entry, segment, is_checked=True)
        with dense.removing_unless_placed(name):
            return _set(dense, (*before, one, *_behind(dense, before, merged)), generation)

    return adopt


def _behind(
    dense: DenseSegments, before: tuple[OpenSegment, ...], merged: tuple[OpenSegment, ...]
) -> tuple[OpenSegment, ...]:
    """Return the segments behind the merged ones, those that came meanwhile included."""
    return dense.segments[len(before) + len(merged) :]


def _add_graph(dense: DenseSegments, opened: OpenSegment, should_stop: ShouldStop) -> Adopt:
    segment = add_graph(dense.directory / opened.entry.name, opened.segment, should_stop)
    return lambda: _replace(dense, opened, segment)


def _set(dense: DenseSegments, segments: tuple[OpenSegment, ...], generation: int) -> bool:
    dense.set_segments(segments, generation)
    return True


def _replace(dense: DenseSegments, old: OpenSegment, segment: VectorSegment) -> bool:
    dense.replaced(old, segment)
    return segment is not old.segment
