"""What belongs to a tree is found whatever its ignore files say; with a real git."""

import subprocess
from pathlib import Path

from tests.client.test_walk import names, write


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
