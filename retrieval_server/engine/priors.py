"""Factors by the kind of source, applied to fused scores: what is rarely the answer stands a little lower."""

from functools import lru_cache

from retrieval_server.engine.analyser import analyse_terms
from retrieval_server.model import Prior

_TEST_FOLDERS = frozenset({"test", "tests", "testing", "__tests__", "spec", "specs", "testdata"})
# Compared without "-" and "_".
_VENDORED_FOLDERS = frozenset({"vendor", "vendored", "thirdparty", "3rdparty", "external", "extern"}) | {
    *("submodules", "nodemodules", "bowercomponents", "sitepackages", "deps"),
}
# Written by build systems and packagers, into the tree or into what is published of it.
_GENERATED_FOLDERS = frozenset({"cmakefiles", "autom4te.cache"})
_GENERATED_FOLDER_ENDINGS = (".egg-info", ".dist-info")
_GENERATED_FILES = frozenset({"configure", "libtool", "ltmain.sh", "config.guess", "config.sub"}) | {
    *("cmakecache.txt", "libtool.m4", "aclocal.m4", "pkg-info"),
}
_GENERATED_ENDINGS = (".min.js", ".min.css", "_pb2.py", "_pb2_grpc.py", ".pb.go", ".pb.cc", ".pb.h")
# What a release changed says everything once more, as news. Compared without "-" and "_".
_CHANGELOG_STEMS = frozenset({"changelog", "changes", "news", "history", "whatsnew", "releases", "releasenotes"})
_CHANGELOG_FOLDERS = frozenset({"changelog", "changelogs", "changes", "newsfragments", "releases", "releasenotes"})

_TEST_SOURCE = Prior("test_source", 0.6)
_VENDORED = Prior("vendored", 0.6)
_GENERATED = Prior("generated", 0.6)
_CHANGELOG = Prior("changelog", 0.8)

_ASKED_BY = {
    _TEST_SOURCE: frozenset(analyse_terms("test tests testing tested")),
    _CHANGELOG: frozenset(
        analyse_terms("changelog changed news history release version since introduced deprecated upgrade migrate")
    ),
}


def source_priors(path: str, query_terms: frozenset[str]) -> tuple[Prior, ...]:
    """Return the factors that apply to a document at `path`.

    Tests are not lowered for a query about tests, nor what releases changed for one about versions.
    """
    priors = _priors_of(path)
    return tuple(p for p in priors if query_terms.isdisjoint(_ASKED_BY.get(p, ()))) if priors else priors


def is_test_source(path: str) -> bool:
    """Tell whether a document at `path` tests others."""
    return _TEST_SOURCE in _priors_of(path)


@lru_cache(maxsize=100_000)
def _priors_of(path: str) -> tuple[Prior, ...]:
    *folders, name = path.lower().split("/")
    stem = name.split(".", 1)[0]
    plain_folders = {_plain(folder) for folder in folders}
    applies = {
        _TEST_SOURCE: not _TEST_FOLDERS.isdisjoint(folders) or _is_test_file(name, stem),
        _VENDORED: not _VENDORED_FOLDERS.isdisjoint(plain_folders),
        _GENERATED: _is_generated(folders, name),
        _CHANGELOG: _plain(stem) in _CHANGELOG_STEMS or not _CHANGELOG_FOLDERS.isdisjoint(plain_folders),
    }
    return tuple(prior for prior, is_so in applies.items() if is_so)


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "")


def _is_test_file(name: str, stem: str) -> bool:
    return stem.startswith("test_") or stem.endswith(("_test", "_tests", "_spec")) or ".test." in name


def _is_generated(folders: list[str], name: str) -> bool:
    return (
        not _GENERATED_FOLDERS.isdisjoint(folders)
        or any(folder.endswith(_GENERATED_FOLDER_ENDINGS) for folder in folders)
        or name in _GENERATED_FILES
        or name.endswith(_GENERATED_ENDINGS)
    )
