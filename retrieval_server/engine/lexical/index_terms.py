"""What a chunk is found by in the lexical index. Apart from the index itself: whoever parses files needs no more."""

from collections.abc import Sequence
from functools import lru_cache

from retrieval_server.engine.places.languages import language_of
from retrieval_server.engine.words.analyser import analyse
from retrieval_server.engine.words.definitions import definition_terms

_PATH_REPEATS = 2


def index_terms(path: str, breadcrumbs: Sequence[str], names: Sequence[str], body: str) -> str:
    """Return the terms under which a chunk is found, joined with spaces."""
    _, kind = language_of(path)
    return " ".join(
        (
            _path_terms(path),
            analyse(" ".join((*breadcrumbs, *names))),
            analyse(body),
            *definition_terms(kind, breadcrumbs, names, body),
        )
    )


# They are asked for with each chunk of a document.
@lru_cache(maxsize=64)
def _path_terms(path: str) -> str:
    return " ".join([analyse(path)] * _PATH_REPEATS)
