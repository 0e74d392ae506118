"""What a filter leaves of a collection, worked out once per filter and view."""

import difflib
import threading
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.places.chunk_set import ChunkSet
from retrieval_server.engine.places.chunk_table import ChunkTable
from retrieval_server.engine.places.globs import comparable_path, glob_pattern
from retrieval_server.engine.places.languages import KNOWN_LANGUAGES
from retrieval_server.errors import FieldError, InvalidRequest
from retrieval_server.model import EVERYTHING, ContentKind, MetadataCondition, PassageFilter

_MAX_REMEMBERED_FILTERS = 16
_MAX_NAMED_KEYS = 8

Value = str | float | datetime
"""A single value of metadata; a list is met by any of its own."""


class FilterableDocument(Protocol):
    """What a filter asks of a document."""

    @property
    def path(self) -> str:
        """Display path."""

    @property
    def language(self) -> str:
        """Language or format, lower case."""

    @property
    def kind(self) -> ContentKind:
        """Code, docs or data."""

    @property
    def metadata(self) -> Mapping[str, Value | tuple[str, ...]]:
        """Values by key."""


class FilterableView(Protocol):
    """What a filter asks of a view."""

    @property
    def table(self) -> ChunkTable:
        """The living chunks."""

    def chunks_containing(self, texts: Sequence[str], among: NDArray[np.int64]) -> Iterable[int]:
        """Return the chunks among (n,) ids whose texts contain all of `texts`."""


@dataclass(frozen=True, slots=True, eq=False)
class Allowed:
    """Chunks that a search may return, and the documents that hold them.

    `document_rows` is (n_documents,) int64, rising; `document_chunk_count` counts all chunks of these documents.
    """

    chunks: ChunkSet
    document_rows: NDArray[np.int64]
    document_chunk_count: int

    @classmethod
    def of(cls, chunks: ChunkSet, table: ChunkTable) -> "Allowed":
        """Return the chunks with their documents."""
        chunk_counts = np.bincount(table.document_indexes, minlength=len(table.documents))
        inside = np.bincount(table.document_indexes[chunks.mask(table.chunk_ids)], minlength=len(table.documents)) > 0
        rows = np.array([table.documents[i].document_row for i in np.flatnonzero(inside).tolist()], np.int64)
        return cls(chunks, np.sort(rows), int(chunk_counts[inside].sum()))


class DocumentMatcher:
    """Tells which documents meet a filter; `contains` is about texts and not looked at. Thread-safe."""

    def __init__(self, wanted: PassageFilter) -> None:
        self._wanted = wanted
        self._included = [glob_pattern(glob) for glob in wanted.include_paths]
        self._excluded = [glob_pattern(glob) for glob in wanted.exclude_paths]

    def matches(self, document: FilterableDocument) -> bool:
        """Tell whether a document meets all conditions on documents."""
        wanted = self._wanted
        if wanted.languages and document.language not in wanted.languages:
            return False
        if wanted.kinds and document.kind not in wanted.kinds:
            return False
        if not all(condition_holds(condition, document.metadata) for condition in wanted.metadata):
            return False
        path = comparable_path(document.path)
        return (not self._included or any(glob.fullmatch(path) for glob in self._included)) and not any(
            glob.fullmatch(path) for glob in self._excluded
        )


_remembered: weakref.WeakKeyDictionary[ChunkTable, dict[PassageFilter, Allowed]] = weakref.WeakKeyDictionary()
_remembered_lock = threading.Lock()


def allowed_chunks(wanted: PassageFilter, view: FilterableView) -> Allowed | None:
    """Return the chunks that a filter leaves, None when it restricts nothing.

    Raises InvalidRequest for a language that nobody knows and for a metadata key that no document has: both are slips
    far more often than they are meant, and an empty result would not tell.
    """
    if wanted == EVERYTHING:
        return None
    table = view.table
    with _remembered_lock:
        known = _remembered.setdefault(table, {}).get(wanted)
    if known is not None:
        return known
    _check_names(wanted, table)
    matcher = DocumentMatcher(wanted)
    matching = np.fromiter((matcher.matches(document) for document in table.documents), bool, len(table.documents))
    chunk_ids = table.chunk_ids[matching[table.document_indexes]] if len(table) else table.chunk_ids
    if wanted.contains:
        chunk_ids = np.fromiter(view.chunks_containing(wanted.contains, chunk_ids), np.int64)
    made = Allowed.of(ChunkSet(chunk_ids), table)
    with _remembered_lock:
        by_filter = _remembered.setdefault(table, {})
        by_filter[wanted] = made
        if len(by_filter) > _MAX_REMEMBERED_FILTERS:
            del by_filter[next(iter(by_filter))]
    return made


def condition_holds(condition: MetadataCondition, metadata: Mapping[str, Value | tuple[str, ...]]) -> bool:
    """Tell whether a document's metadata meets a condition."""
    value = metadata.get(condition.key)
    if value is None:
        return False
    return any(_holds_for(condition, one) for one in (value if isinstance(value, tuple) else (value,)))


def _holds_for(condition: MetadataCondition, value: Value) -> bool:
    if condition.equals is not None:
        return value == condition.equals if isinstance(value, str) else value == _number(condition.equals)
    if condition.numbers is not None:
        low, high = condition.numbers
        return isinstance(value, float) and (low is None or low <= value) and (high is None or value <= high)
    moment = _moment(value)
    if condition.times is None or moment is None:
        return False
    first, last = condition.times
    return (first is None or first <= moment) and (last is None or moment <= last)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _moment(value: Value) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _check_names(wanted: PassageFilter, table: ChunkTable) -> None:
    errors = []
    languages = KNOWN_LANGUAGES | {document.language for document in table.documents}
    errors += [
        FieldError("filter.languages", f"{language!r} is no language that is indexed{_meant(language, languages)}")
        for language in sorted(wanted.languages - languages)
    ]
    if wanted.metadata and table.documents:
        keys = {key for document in table.documents for key in document.metadata}
        errors += [
            FieldError(f"filter.metadata[{i}].key", f"no document has {condition.key!r}{_choice(condition.key, keys)}")
            for i, condition in enumerate(wanted.metadata)
            if condition.key not in keys
        ]
    if errors:
        raise InvalidRequest(*errors)


def _meant(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, sorted(known), n=1)
    return f": is {close[0]!r} meant?" if close else ""


def _choice(name: str, known: Collection[str]) -> str:
    if not known:
        return ": there is no metadata here"
    named = ", ".join(sorted(known)[:_MAX_NAMED_KEYS])
    return _meant(name, known) or f": there is {named}{', …' if len(known) > _MAX_NAMED_KEYS else ''}"
