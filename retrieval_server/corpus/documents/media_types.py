"""Media types of documents that are put: they decide how one is read when its path does not."""

import mimetypes
from dataclasses import replace

from retrieval_server.corpus.documents.documents import ParsedDocument, ParseLimits, SkippedFile, parse_document
from retrieval_server.engine.lexical.index_terms import index_terms
from retrieval_server.engine.places.languages import language_of

# What the standard library has not, or has under another name.
_SUFFIX_BY_MEDIA_TYPE = {
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "text/x-rst": ".rst",
    "text/x-python": ".py",
    "application/json": ".json",
    "application/yaml": ".yaml",
    "application/x-yaml": ".yaml",
    "application/toml": ".toml",
    "application/x-ipynb+json": ".ipynb",
    "text/html": ".html",
    "application/pdf": ".pdf",
}


def suffix_of(media_type: str) -> str | None:
    """Return the file name suffix that stands for a media type, whose parameters do not matter; None if none does."""
    plain = media_type.partition(";")[0].strip().lower()
    return _SUFFIX_BY_MEDIA_TYPE.get(plain) or mimetypes.guess_extension(plain)


def parse_as(relative_path: str, media_type: str, data: bytes, limits: ParseLimits) -> ParsedDocument | SkippedFile:
    """Parse a document as its media type says, by default as its path does. Never raises for what it holds."""
    suffix = suffix_of(media_type) if media_type else None
    if suffix is None or language_of(f"x{suffix}") == language_of(relative_path):
        return parse_document(relative_path, data, limits)
    parsed = parse_document(relative_path + suffix, data, limits)
    if isinstance(parsed, SkippedFile):
        return replace(parsed, relative_path=relative_path)
    # The name that it was parsed under must not be found: it is nobody's.
    chunks = tuple(
        chunk._replace(terms=index_terms(relative_path, chunk.span.breadcrumbs, chunk.span.names, chunk.text))
        for chunk in parsed.chunks
    )
    return replace(parsed, relative_path=relative_path, chunks=chunks)
