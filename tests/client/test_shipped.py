"""What belongs to a tree is found whatever its ignore files say; with a real git."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from client import _shipped
from client._ignore import PathFilter
from client._walk import find_root, scan
from tests.client.test_walk import look, names, reasons, write


def git(folder: Path, *command: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *identity, *command], cwd=folder, check=True, capture_output=True)


def test_what_git_tracks_is_not_ignored(tmp_path):
    write(tmp_path, "src/lib/kept.py", "src/lib/built.py", "a.py")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "src/lib/kept.py")
    write(tmp_path, ".gitignore", content="lib/\n")
    assert names(tmp_path) == [".gitignore", "a.py", "src/lib/kept.py"]


def test_that_holds_below_the_top_of_the_repository_too(tmp_path):
    write(tmp_path, "sub/lib/kept.py")
    write(tmp_path, "sub/.gitignore", content="lib/\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-f", "sub/lib/kept.py")
    write(tmp_path, "sub/lib/built.py")
    assert names(tmp_path / "sub") == [".gitignore", "lib/kept.py"]


def test_a_hook_of_another_repository_changes_nothing(tmp_path, monkeypatch):
    """Git tells its hooks which repository they are of; with `prune` what is tracked here would be removed."""
    write(tmp_path, "here/lib/kept.py", "other/a.py")
    write(tmp_path, "here/.gitignore", content="lib/\n")
    for name in ("here", "other"):
        git(tmp_path / name, "init", "-q")
    git(tmp_path / "here", "add", "-f", "lib/kept.py")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other/.git/index"))
    assert names(tmp_path / "here") == [".gitignore", "lib/kept.py"]


def test_what_a_source_distribution_lists_is_not_ignored(tmp_path):
    write(tmp_path, "pkg-1.0/.gitignore", content="lib/\n*.log\n")
    write(tmp_path, "pkg-1.0/pkg/lib/kept.py", "pkg-1.0/pkg/lib/built.py", "pkg-1.0/a.log")
    write(tmp_path, "pkg-1.0/pkg.egg-info/SOURCES.txt", content="setup.py\npkg/lib/kept.py\n")
    assert names(tmp_path) == [
        "pkg-1.0/.gitignore",
        "pkg-1.0/pkg.egg-info/SOURCES.txt",
        "pkg-1.0/pkg/lib/kept.py",
    ]


def test_a_broken_repository_only_loses_the_exception(tmp_path):
    write(tmp_path, ".git", content="gitdir: nowhere\n")
    write(tmp_path, ".gitignore", content="lib/\n")
    write(tmp_path, "lib/a.py", "b.py")
    assert names(tmp_path) == [".gitignore", "b.py"]


def test_a_repository_cannot_start_a_program_by_being_listed(tmp_path):
    write(tmp_path, "a.py")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "a.py")
    git(tmp_path, "config", "core.fsmonitor", f"touch {tmp_path}/started; true")
    assert names(tmp_path) == ["a.py"]
    assert not (tmp_path / "started").exists()


def tracked_but_ignored(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    write(tree, "lib/kept.py", "a.py")
    write(tree, ".gitignore", content="lib/\n")
    git(tree, "init", "-q")
    git(tree, "add", "-f", "lib/kept.py")
    return tree


def put_before_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let a shell script be what `git` starts; "$0" is found no more, so that `exec git` is the real one."""
    before = os.environ["PATH"]
    write(tmp_path, "bin/git", content=f"#!/bin/sh\nPATH={before!r}\n{script}\n")
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{before}")


def test_a_git_that_takes_long_is_waited_for(tmp_path, monkeypatch):
    """As of a large repository on a slow disk: what it tracks must not seem to have vanished."""
    tree = tracked_but_ignored(tmp_path)
    monkeypatch.setattr(_shipped, "_LOOK_INTERVAL_S", 0.01)
    put_before_git(tmp_path, monkeypatch, 'sleep 0.5; exec git "$@"')
    assert names(tree) == [".gitignore", "a.py", "lib/kept.py"]


def test_a_git_that_does_not_end_is_ended_with_the_scan(tmp_path, monkeypatch):
    tree = tracked_but_ignored(tmp_path)
    put_before_git(tmp_path, monkeypatch, f"touch {tmp_path}/started; exec sleep 600")
    stopped = threading.Event()
    ended = threading.Event()

    def look_until_stopped() -> None:
        scan(find_root(str(tree), None), PathFilter((), ()), stopped=stopped, on_count=lambda _: None)
        ended.set()

    threading.Thread(target=look_until_stopped, daemon=True).start()
    while not (tmp_path / "started").exists():
        assert not ended.wait(0.01)
    stopped.set()
    assert ended.wait(60)


def test_what_git_tracks_has_not_vanished_when_git_fails(tmp_path):
    """With `prune`, which is then withheld, what is tracked and ignored would be removed."""
    tree = tracked_but_ignored(tmp_path)
    (tree / ".git/index").write_bytes(b"damaged" * 10)
    found = look(tree)
    assert [one.relative_path for one in found.files] == [".gitignore", "a.py"]
    assert [(one.relative_path, one.unreadable) for one in found.skipped] == [(".git", True)]
    assert "git does not say what it tracks (fatal: index file corrupt)" in found.skipped[0].reason


def test_without_git_the_ignore_files_alone_decide(tmp_path, monkeypatch):
    tree = tracked_but_ignored(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert names(tree) == [".gitignore", "a.py"]
    assert reasons(tree) == {}
