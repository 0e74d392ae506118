"""Ignore files of strangers: read as git reads them, and in no time whatever they hold."""

import subprocess
import time
from pathlib import Path

import pytest

from client import InvalidRequest
from client._ignore import PathFilter, is_ignored, parse_ignore_file

PATTERNS = [
    "*.log", "/top.md", "sub/", "a/b", "**/deep", "a/**", "a/**/z", "**/a/**/z/", "x?z", "[ab].c", "[!ab].c", "[^ab].c",
    "[c-a].c", "[[:digit:]]*", "[[:nonsense:]]", "[]a].c", "[a", "[z-", "[a&&b].c", "[[a].c", "[a--b].c", "\\*", "\\#x",
    "#x", "!keep", "*\n!keep.md", "sub/\n!sub/keep.md", "end ", "end\\ ", " lead", "\\", "a\\", "/", "//", "!", "**",
    "***", "*/", "**/", "*a*b*", "a*/b", "new*line", "{a,b}", "\xe9*",
    "a/[^/]", "[/b]", "a/[/b]", "a\\/b", "x[/]z", "[[:alpha:]/]b", "\\[a/]b",
]  # fmt: skip
PATHS = [
    "a", "b", "a/b", "a/z", "a/b/z", "a/b/z/c", "x/a/z/q", "deep", "q/deep", "top.md", "q/top.md", "x.log", "q/x.log/y",
    "sub/keep.md", "sub/other", "q/sub/f", "keep.md", "keep", "xyz", "x/z", "a.c", "b.c", "c.c", "].c", "&.c", "[.c",
    "-.c", "1st", "*", "#x", "end", "end ", " lead", "a b", "aXbY", "{a,b}", "new\nline", "q\nr/x.log", "x.log\n",
    "\xe9t\xe9",
]  # fmt: skip


def is_left_out(path: str, content: bytes) -> bool:
    """As the walk does it: what lies in an ignored folder is never reached."""
    ignore_files = [parse_ignore_file("", content)]
    parts = path.split("/")
    folders = ["/".join(parts[:depth]) + "/" for depth in range(1, len(parts))]
    return any(is_ignored(one, ignore_files) for one in (*folders, path))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_means_what_it_means_to_git(tmp_path: Path, pattern: str):
    content = f"{pattern}\n".encode()
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / ".gitignore").write_bytes(content)
    told = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=tmp_path,
        input="\0".join(PATHS).encode() + b"\0",
        capture_output=True,
        check=False,
    ).stdout
    ignored = {path.decode() for path in told.split(b"\0") if path}
    assert [path for path in PATHS if is_left_out(path, content)] == [path for path in PATHS if path in ignored]


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 40 + "*b", "a" * 255),
        ("**/a/" * 12 + "**/b", "a/" * 1000 + "c"),
        ("**/*a*a*a*b/" * 6 + "**/c", f"{'a' * 28}/" * 140 + "x"),
        ("*/" * 500 + "x", "a/" * 1000 + "y"),
    ],
)
def test_no_pattern_takes_long(pattern: str, path: str):
    """A match keeps the interpreter to itself: nobody could stop it."""
    started = time.process_time()
    assert not is_ignored(path, [parse_ignore_file("", pattern.encode())])
    assert time.process_time() - started < 2


def test_a_byte_order_mark_and_carriage_returns_are_no_part_of_a_pattern():
    assert is_left_out("x.log", b"\xef\xbb\xbf*.log\r\n*.tmp\r\n")
    assert is_left_out("x.tmp", b"\xef\xbb\xbf*.log\r\n*.tmp\r\n")


@pytest.mark.parametrize("glob", ["", " ", "!", "#all", "[a", "\\", "/"])
def test_a_filter_that_could_match_nothing_is_refused(glob: str):
    with pytest.raises(InvalidRequest, match="is not a glob"):
        PathFilter((glob,), ())
