"""What a commit is to do, and what it did: the words between those who change a collection and those who store it."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.documents.documents import ParsedDocument
from retrieval_server.corpus.documents.metadata import SetFields
from retrieval_server.model import ContentKind


@dataclass(frozen=True, slots=True)
class EmbeddedWindows:
    """The windows of one chunk: a key (sha256 of the window's text) and a (dimension,) float32 vector each."""

    keys: tuple[bytes, ...]
    vectors: tuple[NDArray[np.float32], ...]


@dataclass(frozen=True, slots=True)
class ChunkToEmbed:
    """A chunk that has no vectors yet; a title that was set on its document is the first of the breadcrumbs."""

    chunk_id: int
    kind: ContentKind
    relative_path: str
    breadcrumbs: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class PutAttributes:
    """What a put says of a document beside its content; all of it replaces what was said before."""

    media_type: str
    fields: SetFields


@dataclass(frozen=True, slots=True)
class SourceChange:
    """What one commit does to one source: documents to add or replace, and relative paths to remove."""

    source_key: str
    # None keeps the prefix that the source has; a new one then shows relative paths as they are.
    display_prefix: str | None
    max_chunk_chars: int
    documents: Sequence[ParsedDocument]
    removed_paths: Sequence[str] = ()
    # Relative path → windows of each of its chunks, in order; documents without an entry are embedded later.
    windows_by_path: Mapping[str, Sequence[EmbeddedWindows]] = field(default_factory=dict)
    # Relative path → bytes of a document whose text alone does not give them back.
    originals_by_path: Mapping[str, bytes] = field(default_factory=dict)
    # Relative path → what a put says; what was set on the other documents stays.
    attributes_by_path: Mapping[str, PutAttributes] = field(default_factory=dict)
    # Relative path → the etag that must be there, "" for none; checked within the commit.
    expected_etags: Mapping[str, str] = field(default_factory=dict)
    # Relative paths at which the source adds nothing while another source shows a document there; checked within the
    # commit, before etags.
    unshared_paths: Collection[str] = ()
    # Relative path → the etag of a version that is parsed anew: it stays that version, with its etag and its times. A
    # document that has another etag by now is left alone.
    rebuilt_etags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Removal:
    """Documents that one commit removes, from any source; those that are not there are passed over."""

    document_ids: Sequence[str]
    # Refuse with DOCUMENT_NOT_FOUND instead of passing over one that is not there.
    is_each_required: bool = False
    # Document id → the etag that must be there; checked within the commit.
    expected_etags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommittedChange:
    """What the derived indexes must follow. `is_moved`: documents that did not change are shown at other paths now."""

    generation: int
    dead_document_rows: tuple[int, ...] = ()
    added_document_rows: tuple[int, ...] = ()
    removed_document_ids: tuple[str, ...] = ()
    is_moved: bool = False


def document_id_of(source_key: str, relative_path: str) -> str:
    """Return the id of a document, the same on every machine and in every index."""
    return hashlib.sha256(f"{source_key}\0{relative_path}".encode()).hexdigest()[:32]
