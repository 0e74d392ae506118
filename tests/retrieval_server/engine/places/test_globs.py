"""Globs over paths."""

import fnmatch
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.engine.places.globs import MAX_GLOB_CHARS, MalformedGlob, comparable_path, glob_pattern


def matches(glob: str, path: str) -> bool:
    return glob_pattern(glob).fullmatch(comparable_path(path)) is not None


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("a/*.py", "a/b.py"),
        ("**/*.py", "b.py"),
        ("**/*.py", "a/b/c.py"),
        ("**/*.py", "/srv/a/b.py"),
        ("a/**", "a/b/c"),
        ("a/**/c.py", "a/c.py"),
        ("a/**/c.py", "a/b/d/c.py"),
        ("**/b/**/b/*.py", "x/b/y/b/d.py"),
        ("**/a*/**/*b*/c", "x/ab/y/abc/c"),
        ("**", "a"),
        ("/srv/**/x", "/srv/y/x"),
        ("?.md", "é.md"),
        ("é.md", "e\u0301.md"),
        ("[!a-c]x", "dx"),
        ("[]]x", "]x"),
        ("[a-]x", "-x"),
        (r"a\*b", "a*b"),
        (r"\[x]", "[x]"),
        ("a{b}", "a{b}"),
        ("*ab", "aab"),
    ],
)
def test_matching(glob: str, path: str):
    assert matches(glob, path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*.py", "a/b.py"),
        ("a/*.py", "a/b/c.py"),
        ("a/**", "a"),
        ("**/b/**/b/*.py", "b/d.py"),
        ("A.py", "a.py"),
        ("a.py", "axpy"),
        ("[!a]x", "ax"),
        ("[!a]x", "/x"),
        ("a?b", "a/b"),
        (r"a\*b", "axb"),
        ("a", "a\n"),
        ("(a|b)+", "ab"),
    ],
)
def test_not_matching(glob: str, path: str):
    assert not matches(glob, path)


@pytest.mark.parametrize(
    ("glob", "said"),
    [
        ("", "empty"),
        ("a/", "a/**"),
        ("a//b", "empty part"),
        ("./a", "leave it out"),
        ("src/**.py", "**/*.py"),
        ("a[", r"\["),
        ("a[]", r"\["),
        ("[z-a]", "falls"),
        ("a\\", "backslash"),
        ("a\0", "control"),
        ("a" * (MAX_GLOB_CHARS + 1), "limit"),
    ],
)
def test_a_malformed_glob_says_what_to_write_instead(glob: str, said: str):
    with pytest.raises(MalformedGlob) as caught:
        glob_pattern(glob)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("**/*a/" * 150 + "b", "a/" * 2000 + "c"),
        ("*a" * 500 + "b", "a" * 4000),
        ("**/" * 300 + "x", "a/" * 2000 + "y"),
        ("[a-z]*" * 150 + "b", "a" * 4000),
        ("**/?*?*?*/" * 80 + "b", ("a" * 19 + "/") * 200 + "c"),
    ],
)
def test_no_glob_takes_long(glob: str, path: str):
    pattern = glob_pattern(glob)
    started = time.process_time()
    assert pattern.fullmatch(path) is None
    assert time.process_time() - started < 5


@given(st.text(st.sampled_from("ab*?./"), min_size=1, max_size=8), st.text(st.sampled_from("ab./"), max_size=8))
def test_within_one_part_a_glob_means_what_it_means_everywhere(glob: str, path: str):
    """Against the standard library's matcher, which knows no parts."""
    if "/" in glob or "**" in glob or glob == "." or "/" in path:
        return
    assert matches(glob, path) == fnmatch.fnmatchcase(path, glob)


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_is_a_glob_or_malformed(glob: str, path: str):
    with suppress(MalformedGlob):
        matches(glob, path)
