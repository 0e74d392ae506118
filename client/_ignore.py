"""Which files of a tree are left out without a word: ignored ones, version control's own, and caches.

`.gitignore` files at the root and below count, a deeper one wins, and what lies in an ignored folder stays out, all as
in git; what git tracks, or a package shipped, is never ignored (`client/_shipped.py`). Files above the root and git's
global settings do not count. Other hidden files are taken.
"""

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pathspec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from client._glob import regex_of
from client.errors import invalid_field

VERSION_CONTROL_NAMES = frozenset({".git", ".hg", ".svn", ".bzr", ".jj"})
CACHE_FOLDERS = frozenset(
    {
        "__pycache__",
        "node_modules",
        ".venv",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".hypothesis",
        ".ipynb_checkpoints",
    }
)
VIRTUAL_ENVIRONMENT_MARK = "pyvenv.cfg"


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The patterns of one .gitignore; `folder` is "" or ends in "/"."""

    folder: str
    spec: pathspec.GitIgnoreSpec


class _Pattern(GitIgnoreSpecPattern):
    """A line of an ignore file, read as git reads it; one that can match nothing is passed over."""

    __slots__ = ()

    @classmethod
    def pattern_to_regex(cls, pattern: Any) -> tuple[Any, bool | None]:
        """Return the regular expression, and whether what it matches is ignored; both None for no pattern."""
        line = _without_spaces_at_end(str(pattern))
        is_negated = line.startswith("!")
        glob = line[1:] if is_negated else line
        regex = regex_of(glob) if glob and not line.startswith("#") else None
        return (None, None) if regex is None else (regex, not is_negated)


def _without_spaces_at_end(line: str) -> str:
    stripped = line.rstrip(" ")
    escapes = stripped[len(stripped.rstrip("\\")) :]
    return f"{stripped} " if len(escapes) % 2 and stripped != line else stripped


def _spec(lines: Iterable[str]) -> pathspec.GitIgnoreSpec:
    # Other backends know no atomic groups.
    return pathspec.GitIgnoreSpec.from_lines(lines, _Pattern, backend="simple")


def parse_ignore_file(folder: str, content: bytes) -> IgnoreFile:
    """Return the patterns of a .gitignore; a line that is no pattern is passed over, as git does."""
    lines = content.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape").split("\n")
    return IgnoreFile(folder, _spec(line.removesuffix("\r") for line in lines))


def _is_pattern(line: str) -> bool:
    return _Pattern.pattern_to_regex(line)[1] is not None


def is_ignored(path: str, ignore_files: Sequence[IgnoreFile]) -> bool:
    """Tell whether `path` (a folder's ends in "/") is ignored; `ignore_files` are in order of depth."""
    for ignore_file in reversed(ignore_files):
        verdict = ignore_file.spec.check_file(path[len(ignore_file.folder) :]).include
        if verdict is not None:
            return verdict
    return False


class PathFilter:
    """The globs of --include and --exclude, written as in .gitignore and relative to the root."""

    def __init__(self, include: Iterable[str], exclude: Iterable[str]) -> None:
        self._include = _globs("include", include)
        self._exclude = _globs("exclude", exclude)

    def takes(self, path: str) -> bool:
        """Tell whether a file is wanted: it matches some include glob, if there are any, and no exclude glob."""
        if self._exclude is not None and self._exclude.match_file(path):
            return False
        return self._include is None or self._include.match_file(path)


def _globs(field: str, patterns: Iterable[str]) -> pathspec.GitIgnoreSpec | None:
    patterns = list(patterns)
    for pattern in patterns:
        if not _is_pattern(pattern):
            raise invalid_field(field, f"{pattern!r} is not a glob")
    return _spec(patterns) if patterns else None
