"""Collections, documents, what a sync did, and what the server and its queue are doing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from client._passage_types import ContentKind


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of documents with one index."""

    name: str
    create_time: datetime | None
    index_generation: int
    max_chunk_size_chars: int


@dataclass(frozen=True, slots=True)
class SourceStats:
    """What one source brought."""

    source: str
    display_prefix: str
    document_count: int


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """Counts of a collection. `dense_coverage` is the share of embeddable chunks that have vectors, 0 to 1."""

    collection: Collection
    document_count: int
    chunk_count: int
    embeddable_chunk_count: int
    embedded_chunk_count: int
    dense_coverage: float
    text_bytes: int
    disk_bytes: int
    vector_epoch: int
    encoder: str
    sources: tuple[SourceStats, ...]
    encoder_problem: str
    stale_chunk_count: int


@dataclass(frozen=True, slots=True)
class DocumentKey:
    """Where a document came from."""

    source: str
    relative_path: str


@dataclass(frozen=True, slots=True)
class Document:
    """One file or record and its one stored text."""

    document_id: str
    key: DocumentKey
    path: str
    language: str
    kind: ContentKind
    content_sha256: bytes
    char_count: int
    line_count: int
    encoding: str
    had_byte_order_mark: bool
    text: str
    update_time: datetime | None
    metadata: Mapping[str, str]


class SyncPhase(StrEnum):
    """What is being done; SCANNING is the client's own, the others are the server's."""

    UNSPECIFIED = "unspecified"
    SCANNING = "scanning"
    READING = "reading"
    INDEXING = "indexing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SyncProgress:
    """How far an index run is; `total_count` is 0 while nobody knows."""

    phase: SyncPhase
    done_count: int
    total_count: int


class SyncFileOutcome(StrEnum):
    """What happened, or on a dry run would happen, to one file."""

    UNSPECIFIED = "unspecified"
    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SyncedFile:
    """One file that is not unchanged; `detail` says why it was skipped."""

    relative_path: str
    outcome: SyncFileOutcome
    detail: str


@dataclass(frozen=True, slots=True)
class SyncSummary:
    """What an index run did. `skipped_count` counts what the client or the server did not take.

    `elapsed_s` runs from the first look at the disk until everything is durable and lexically searchable.
    `prune_withheld` is True when pruning was asked for and left out, since part of the tree could not be read.
    """

    added_count: int
    updated_count: int
    unchanged_count: int
    removed_count: int
    skipped_count: int
    chunk_count: int
    index_generation: int
    dense_coverage: float
    elapsed_s: float
    files: tuple[SyncedFile, ...] = ()
    prune_withheld: bool = False


@dataclass(frozen=True, slots=True)
class QueueStats:
    """Jobs of the answer queue."""

    waiting_count: int
    running_count: int
    dead_letter_count: int
    live_worker_count: int


@dataclass(frozen=True, slots=True)
class Worker:
    """One generation worker that showed a sign of life."""

    worker_id: str
    model: str
    last_seen_time: datetime | None
    uptime_s: float


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The server's version and effective settings by name, secrets masked."""

    version: str
    settings: Mapping[str, str]
