"""The steps of everything that changes files, for tests that let the process die between any two of them."""

from collections.abc import Callable
from enum import Enum


class CommitStep(Enum):
    """A point that a change passes."""

    # A commit, and what the lexical index makes of it.
    IN_TRANSACTION = "in_transaction"
    STORED = "stored"
    INDEXED = "indexed"
    # A small file lies beside the one that it is to replace: which generation the index reflects, checksums of a
    # segment, the list of segments.
    RECORD_WRITTEN = "record_written"
    LEXICAL_RECORDED = "lexical_recorded"
    PUBLISHED = "published"
    # Vectors, and the segments that they are searched in.
    VECTORS_STORED = "vectors_stored"
    SEGMENT_WRITTEN = "segment_written"
    SEGMENT_PLACED = "segment_placed"
    MANIFEST_REPLACED = "manifest_replaced"
    OLD_SEGMENTS_REMOVED = "old_segments_removed"
    GRAPH_BUILT = "graph_built"
    GRAPH_PLACED = "graph_placed"
    GRAPH_RECORDED = "graph_recorded"
    # Compaction.
    LEXICAL_REFRESHED = "lexical_refreshed"
    DEAD_PURGED = "dead_purged"
    # Snapshots, and the directories that they are put back as.
    SNAPSHOT_WRITTEN = "snapshot_written"
    SNAPSHOT_PLACED = "snapshot_placed"
    SNAPSHOT_SET_ASIDE = "snapshot_set_aside"
    DIRECTORY_FILLED = "directory_filled"
    DIRECTORY_PLACED = "directory_placed"


def _go_on(step: CommitStep) -> None:
    del step


on_step: Callable[[CommitStep], None] = _go_on
"""Called as each step is passed."""


def passed(step: CommitStep) -> None:
    """Say that a step is done."""
    on_step(step)
