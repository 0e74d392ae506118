"""Collections, documents, what a sync did, and what the server and its queue are doing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum

from client._passage_types import ContentKind
from client.errors import ClientError

MetadataValue = str | float | datetime | tuple[str, ...]
"""A value of a document's metadata."""


class Unset(Enum):
    """The type of UNSET: what is not to be changed, where None means that it is to be taken away."""

    UNSET = "unset"


UNSET = Unset.UNSET


class CollectionState(StrEnum):
    """Whether a collection can be used; a DAMAGED one can only be removed or restored."""

    UNSPECIFIED = "unspecified"
    SERVING = "serving"
    DAMAGED = "damaged"
    UNKNOWN = "unknown"


class Similarity(StrEnum):
    """How a collection's vectors are compared: by direction alone, or by dot product, which long texts profit from."""

    UNSPECIFIED = "unspecified"
    COSINE = "cosine"
    DOT = "dot"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of documents with one index."""

    name: str
    create_time: datetime | None
    index_generation: int
    max_chunk_size_chars: int
    problem: str
    state: CollectionState
    similarity: Similarity
    # None: prose is cut by its format.
    sentences_per_chunk: int | None


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
    create_time: datetime | None
    update_time: datetime | None
    title: str
    source_url: str
    media_type: str
    metadata: Mapping[str, MetadataValue]
    etag: str
    original_bytes: int


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """A document as it is stored now, without its text, and the generation that holds it."""

    document: Document
    index_generation: int


@dataclass(frozen=True, slots=True)
class DeletedDocument:
    """What became of one document that was to be removed; `error` is None when it is gone."""

    document_id: str
    error: ClientError | None


@dataclass(frozen=True, slots=True)
class DeletedDocuments:
    """How many documents went, or would go, and the generation that lacks them."""

    deleted_count: int
    index_generation: int


@dataclass(frozen=True, slots=True)
class RebuildProgress:
    """How far a rebuild is; `kept_count` documents could not be parsed anew and stay as they were."""

    done_count: int
    total_count: int
    kept_count: int
    index_generation: int
    finished: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of a collection as of one moment."""

    snapshot_id: str
    collection: str
    index_generation: int
    create_time: datetime | None
    size_bytes: int


class SyncPhase(StrEnum):
    """What is being done; SCANNING is the client's own, the others are the server's."""

    UNSPECIFIED = "unspecified"
    SCANNING = "scanning"
    READING = "reading"
    INDEXING = "indexing"
    UNKNOWN = "unknown"


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
    """One file that is not unchanged; `detail` says why it was skipped, or what another source shows at its path."""

    relative_path: str
    outcome: SyncFileOutcome
    detail: str


@dataclass(frozen=True, slots=True)
class SyncProgress:
    """How far an index run is; `total_count` is 0 while nobody knows.

    `files` are those whose outcome is known since the last progress, without what is unchanged.
    """

    phase: SyncPhase
    done_count: int
    total_count: int
    files: tuple[SyncedFile, ...] = ()


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
class ServerSettings:
    """The server's version and effective settings by name, secrets masked."""

    version: str
    settings: Mapping[str, str]
