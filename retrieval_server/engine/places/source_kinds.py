"""What a document is in its project, by its path: a test, others' code, written by a tool, news, a translation."""

from enum import Enum, auto
from functools import lru_cache

from retrieval_server.engine.places.translations import is_translation

_TEST_FOLDERS = frozenset({"test", "tests", "testing", "__tests__", "spec", "specs", "testdata"})
# Compared without "-" and "_".
_VENDORED_FOLDERS = frozenset({"vendor", "vendored", "thirdparty", "3rdparty", "external", "extern"}) | {
    *("submodules", "nodemodules", "bowercomponents", "sitepackages", "deps"),
}
# Written by build systems and packagers, into the tree or into what is published of it.
_GENERATED_FOLDERS = frozenset({"cmakefiles", "autom4te.cache", "dist"})
_GENERATED_FOLDER_ENDINGS = (".egg-info", ".dist-info")
_GENERATED_FILES = frozenset({"configure", "libtool", "ltmain.sh", "config.guess", "config.sub"}) | {
    *("cmakecache.txt", "libtool.m4", "aclocal.m4", "pkg-info"),
}
# Source maps hold whole sources once more; those of .mjs and .mts files end so, too.
_SOURCE_MAP_ENDINGS = ("js.map", "ts.map", "css.map")
_GENERATED_ENDINGS = (
    ".min.js",
    ".min.css",
    "_pb2.py",
    "_pb2_grpc.py",
    ".pb.go",
    ".pb.cc",
    ".pb.h",
    *_SOURCE_MAP_ENDINGS,
)
# What a release changed says everything once more, as news. Compared without "-" and "_".
_CHANGELOG_STEMS = frozenset({"changelog", "changes", "news", "history", "whatsnew", "releases", "releasenotes"})
_CHANGELOG_FOLDERS = frozenset({"changelog", "changelogs", "changes", "newsfragments", "releases", "releasenotes"})


class SourceKind(Enum):
    """What makes a document rarely the answer."""

    TEST = auto()
    VENDORED = auto()
    GENERATED = auto()
    CHANGELOG = auto()
    TRANSLATION = auto()


@lru_cache(maxsize=100_000)
def source_kinds(path: str) -> tuple[SourceKind, ...]:
    """Return which kinds a document at `path` is of, most are of none."""
    *folders, name = path.lower().split("/")
    stem = name.split(".", 1)[0]
    plain_folders = {_plain(folder) for folder in folders}
    is_of = {
        SourceKind.TEST: not _TEST_FOLDERS.isdisjoint(folders) or _is_test_file(name, stem),
        SourceKind.VENDORED: not _VENDORED_FOLDERS.isdisjoint(plain_folders),
        SourceKind.GENERATED: _is_generated(folders, name),
        SourceKind.CHANGELOG: _plain(stem) in _CHANGELOG_STEMS or not _CHANGELOG_FOLDERS.isdisjoint(plain_folders),
        SourceKind.TRANSLATION: is_translation(path.lower()),
    }
    return tuple(kind for kind, is_so in is_of.items() if is_so)


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "")


def _is_test_file(name: str, stem: str) -> bool:
    return (
        stem in {"test", "tests"}
        or stem.startswith("test_")
        or stem.endswith(("_test", "_tests", "_spec"))
        or ".test." in name
    )


def _is_generated(folders: list[str], name: str) -> bool:
    return (
        not _GENERATED_FOLDERS.isdisjoint(folders)
        or any(folder.endswith(_GENERATED_FOLDER_ENDINGS) for folder in folders)
        or name in _GENERATED_FILES
        or name.endswith(_GENERATED_ENDINGS)
    )
