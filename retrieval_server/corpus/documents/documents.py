"""A file's bytes to a document with its chunks, ready to be stored; or the reason why it is not taken."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from retrieval_server.corpus.documents.decode import DecodedText
from retrieval_server.corpus.documents.extraction import UnusableFile, extract
from retrieval_server.corpus.documents.records import RecordChunk, read_record_file
from retrieval_server.engine.chunkers import Chunk, LineIndex, chunk_text
from retrieval_server.engine.chunkers.breadcrumbs import bounded
from retrieval_server.engine.chunkers.sentences import sentence_chunks
from retrieval_server.engine.lexical.index_terms import index_terms
from retrieval_server.engine.places.languages import is_prose
from retrieval_server.model import ContentKind, MetadataValue

MAX_RELATIVE_PATH_BYTES = 4096
MAX_TITLE_BYTES = 1024
# For what was taken before, whatever today's limits are.
ANY_LINE_CHARS = 2**31 - 1
_LANGUAGES_WITH_HEADINGS = frozenset({"markdown", "restructuredtext", "html", "notebook"})


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """What is too large to be worth finding."""

    max_file_bytes: int
    max_line_chars: int
    max_chunk_chars: int
    # Prose is cut into chunks of so many sentences; None leaves it to the format.
    sentences_per_chunk: int | None = None


class ParsedChunk(NamedTuple):
    """A chunk, its text and its index terms (space-separated); a derived text was made of what stands at the span."""

    span: Chunk
    text: str
    terms: str
    is_derived: bool = False


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document that can be stored."""

    relative_path: str
    sha256: bytes
    decoded: DecodedText
    language: str
    kind: ContentKind
    line_count: int
    chunks: tuple[ParsedChunk, ...]
    title: str = ""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    # What a caller set, under which windows are made; not read from the document.
    set_title: str = ""


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is not taken, and why."""

    relative_path: str
    detail: str


def path_problem(relative_path: str) -> str | None:
    """Return what is wrong with a relative path, or None."""
    if not relative_path:
        return "the path is empty"
    if len(relative_path.encode("utf-8", "replace")) > MAX_RELATIVE_PATH_BYTES:
        return f"the path is longer than {MAX_RELATIVE_PATH_BYTES} bytes"
    if relative_path.startswith("/"):
        return "the path must be relative"
    if "\\" in relative_path or "\0" in relative_path:
        return "the path must not have a backslash or NUL; its parts have / between them"
    if any(part in ("", ".", "..") for part in relative_path.split("/")):
        return "the path must not have empty parts, . or .."
    return None


def parse_document(relative_path: str, data: bytes, limits: ParseLimits) -> ParsedDocument | SkippedFile:
    """Decode, chunk and analyse one file. Never raises for what the file holds."""
    if not data:
        return SkippedFile(relative_path, "empty")
    if len(data) > limits.max_file_bytes:
        return SkippedFile(relative_path, f"{len(data):,} bytes, more than {limits.max_file_bytes:,}")
    try:
        extracted = extract(relative_path, data)
    except UnusableFile as problem:
        return SkippedFile(relative_path, str(problem))
    text, language, kind = extracted.decoded.text, extracted.language, extracted.kind
    if not text.strip():
        return SkippedFile(relative_path, "blank")
    lines = LineIndex(text)
    longest = lines.longest_line_chars
    if longest > limits.max_line_chars:
        return SkippedFile(relative_path, f"a line of {longest:,} characters, more than {limits.max_line_chars:,}")
    if language == "text" and not is_prose(text):
        kind = ContentKind.DATA
    chunks = tuple(
        ParsedChunk(span, body, index_terms(relative_path, span.breadcrumbs, span.names, body))
        for span in _chunks_of(text, lines, language, kind, limits)
        for body in (text[span.start_char : span.end_char],)
    )
    title, metadata = extracted.title or _first_heading(chunks, language), extracted.metadata
    records = read_record_file(text, limits.max_chunk_chars) if language == "json" else None
    if records is not None:
        # Records are written for people to ask about, unlike other data.
        kind, title, metadata = ContentKind.DOCS, records.title, records.metadata
        chunks = tuple(_record_chunk(relative_path, record, lines) for record in records.chunks)
    return ParsedDocument(
        relative_path=relative_path,
        sha256=hashlib.sha256(data).digest(),
        decoded=extracted.decoded,
        language=language,
        kind=kind,
        line_count=lines.line_count,
        chunks=chunks,
        title=_fitting(title),
        metadata=metadata,
    )


def _record_chunk(relative_path: str, record: RecordChunk, lines: LineIndex) -> ParsedChunk:
    span = Chunk(
        start_char=record.start,
        end_char=record.end,
        start_line=lines.line_of(record.start),
        end_line=lines.line_of(max(record.start, record.end - 1)),
        breadcrumbs=bounded(record.breadcrumbs),
        names=record.names,
    )
    terms = index_terms(relative_path, span.breadcrumbs, span.names, record.text)
    return ParsedChunk(span, record.text, terms, is_derived=True)


def _chunks_of(text: str, lines: LineIndex, language: str, kind: ContentKind, limits: ParseLimits) -> list[Chunk]:
    if limits.sentences_per_chunk is not None and kind is ContentKind.DOCS:
        return sentence_chunks(text, lines, limits.sentences_per_chunk, limits.max_chunk_chars)
    return chunk_text(text, lines, language, limits.max_chunk_chars)


def _fitting(title: str) -> str:
    """Return as much of a title as one that is set may take."""
    return title.encode()[:MAX_TITLE_BYTES].decode(errors="ignore")


def _first_heading(chunks: Sequence[ParsedChunk], language: str) -> str:
    if language not in _LANGUAGES_WITH_HEADINGS:
        return ""
    return next((chunk.span.breadcrumbs[0] for chunk in chunks if chunk.span.breadcrumbs), "")
