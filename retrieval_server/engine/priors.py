"""Factors by the kind of source, applied to fused scores: what is rarely the answer stands a little lower."""

from functools import lru_cache

from retrieval_server.engine.analyser import analyse_terms
from retrieval_server.model import Prior

_TEST_FOLDERS = frozenset({"test", "tests", "testing", "__tests__", "spec", "specs", "testdata"})
_VENDORED_FOLDERS = frozenset({"vendor", "vendored", "third_party", "thirdparty", "node_modules", "external"})
_TEST_TERMS = frozenset(analyse_terms("test tests testing tested"))

_TEST_SOURCE = Prior("test_source", 0.8)
_VENDORED = Prior("vendored", 0.9)


def source_priors(path: str, query_terms: frozenset[str]) -> tuple[Prior, ...]:
    """Return the factors that apply to a document at `path`; tests are not lowered for a query about tests."""
    priors = _priors_of(path)
    return tuple(p for p in priors if p is not _TEST_SOURCE) if query_terms & _TEST_TERMS else priors


def is_test_source(path: str) -> bool:
    """Tell whether a document at `path` tests others."""
    return _TEST_SOURCE in _priors_of(path)


@lru_cache(maxsize=100_000)
def _priors_of(path: str) -> tuple[Prior, ...]:
    *folders, name = path.lower().split("/")
    priors = []
    if not _TEST_FOLDERS.isdisjoint(folders) or _is_test_file(name):
        priors.append(_TEST_SOURCE)
    if not _VENDORED_FOLDERS.isdisjoint(folders):
        priors.append(_VENDORED)
    return tuple(priors)


def _is_test_file(name: str) -> bool:
    stem = name.split(".", 1)[0]
    return stem.startswith("test_") or stem.endswith(("_test", "_tests", "_spec")) or ".test." in name
