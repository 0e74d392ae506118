"""The title that a caller set on a document: it stands above the headings of each chunk, for words and for vectors.

A title that was read from the document is among its headings already.
"""

from collections.abc import Sequence

from retrieval_server.engine.words.analyser import analyse

# Headings that would take more than a quarter of a window are all left out of it.
_MAX_EMBEDDED_CHARS = 120


def under_title(title: str, breadcrumbs: Sequence[str]) -> tuple[str, ...]:
    """Return the headings that a chunk is embedded under, the document's set title first unless it is one of them."""
    if not title or title in breadcrumbs:
        return tuple(breadcrumbs)
    return (title[:_MAX_EMBEDDED_CHARS], *breadcrumbs)


def titled_terms(terms: str, title: str, breadcrumbs: Sequence[str]) -> str:
    """Return the index terms of a chunk with those of its document's set title, unless it stands under that already."""
    return f"{terms} {analyse(title)}" if title and title not in breadcrumbs else terms
