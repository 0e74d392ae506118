"""A file's bytes to a document with its chunks, ready to be stored; or the reason why it is not taken."""

import hashlib
from dataclasses import dataclass

from retrieval_server.corpus.decode import DecodedText, decode
from retrieval_server.engine.chunkers import Chunk, LineIndex, chunk_text
from retrieval_server.engine.languages import is_prose, language_of
from retrieval_server.engine.lexical import index_terms
from retrieval_server.model import ContentKind

MAX_RELATIVE_PATH_BYTES = 4096


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """What is too large to be worth finding."""

    max_file_bytes: int
    max_line_chars: int
    max_chunk_chars: int


@dataclass(frozen=True, slots=True)
class ParsedChunk:
    """A chunk, its text and its index terms (space-separated)."""

    span: Chunk
    text: str
    terms: str


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
    if relative_path.startswith("/") or "\\" in relative_path or "\0" in relative_path:
        return "the path must be relative, with / between its parts"
    if any(part in ("", ".", "..") for part in relative_path.split("/")):
        return "the path must not have empty parts, . or .."
    return None


def parse_document(relative_path: str, data: bytes, limits: ParseLimits) -> ParsedDocument | SkippedFile:
    """Decode, chunk and analyse one file. Never raises for what the file holds."""
    if not data:
        return SkippedFile(relative_path, "empty")
    if len(data) > limits.max_file_bytes:
        return SkippedFile(relative_path, f"{len(data):,} bytes, more than {limits.max_file_bytes:,}")
    decoded = decode(data)
    if decoded is None:
        return SkippedFile(relative_path, "binary")
    if not decoded.text.strip():
        return SkippedFile(relative_path, "blank")
    lines = LineIndex(decoded.text)
    longest = lines.longest_line_chars
    if longest > limits.max_line_chars:
        return SkippedFile(relative_path, f"a line of {longest:,} characters, more than {limits.max_line_chars:,}")
    text = decoded.text
    language, kind = language_of(relative_path)
    if language == "text" and not is_prose(text):
        kind = ContentKind.DATA
    chunks = tuple(
        ParsedChunk(span, body, index_terms(relative_path, span.breadcrumbs, span.names, body))
        for span in chunk_text(text, lines, language, limits.max_chunk_chars)
        for body in (text[span.start_char : span.end_char],)
    )
    return ParsedDocument(
        relative_path=relative_path,
        sha256=hashlib.sha256(data).digest(),
        decoded=decoded,
        language=language,
        kind=kind,
        line_count=lines.line_count,
        chunks=chunks,
    )
