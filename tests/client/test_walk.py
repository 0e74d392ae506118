"""Which files are found, which are left out, and why; with real files."""

import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from client import InvalidRequest
from client._ignore import PathFilter
from client._read import MAX_FILE_BYTES
from client._walk import find_root, scan

DENIED = "cannot be read: permission denied"


def write(root: Path, *paths: str, content: str = "text\n") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def look(root: Path, include=(), exclude=()):
    return scan(
        find_root(str(root), None), PathFilter(include, exclude), stopped=threading.Event(), on_count=lambda _: None
    )


def names(root: Path, **filters) -> list[str]:
    return [one.relative_path for one in look(root, **filters).files]


def reasons(root: Path) -> dict[str, str]:
    return {one.relative_path: one.reason for one in look(root).skipped}


def test_files_come_sorted_by_path_with_hash_and_size(tmp_path):
    write(tmp_path, "b/x.py", "a.py", "b.py", "b/a/z.py")
    found = look(tmp_path).files
    assert [one.relative_path for one in found] == ["a.py", "b.py", "b/a/z.py", "b/x.py"]
    assert found[0].sha256 == hashlib.sha256(b"text\n").digest()
    assert found[0].size_bytes == 5


def test_hidden_files_are_taken_but_not_version_control_nor_caches(tmp_path):
    write(tmp_path, ".github/ci.yml", ".env", ".git/config", "sub/.git/HEAD", ".hg/x", ".svn/x", "a/__pycache__/a.pyc")
    write(tmp_path, "node_modules/x.js", ".venv/x.py", "kept.py")
    assert names(tmp_path) == [".env", ".github/ci.yml", "kept.py"]
    assert look(tmp_path).skipped == ()


def test_the_git_file_of_a_worktree_is_left_out(tmp_path):
    write(tmp_path, ".git", "a.py")
    assert names(tmp_path) == ["a.py"]


def test_a_virtual_environment_is_known_by_its_mark(tmp_path):
    write(tmp_path, "env/pyvenv.cfg", "env/lib/x.py", "a.py")
    assert names(tmp_path) == ["a.py"]


def test_a_root_that_is_itself_such_a_folder_is_indexed(tmp_path):
    write(tmp_path, ".venv/pyvenv.cfg", ".venv/x.py")
    assert names(tmp_path / ".venv") == ["pyvenv.cfg", "x.py"]


def test_gitignore_files_count_at_every_depth_and_the_deeper_wins(tmp_path):
    write(tmp_path, ".gitignore", content="*.log\n/build/\n!keep.log\n")
    write(tmp_path, "sub/.gitignore", content="!wanted.log\nlocal.txt\n")
    write(tmp_path, "a.log", "keep.log", "build/x.py", "sub/build/x.py", "sub/wanted.log", "sub/a.log", "sub/local.txt")
    write(tmp_path, "local.txt")
    assert names(tmp_path) == [
        ".gitignore", "keep.log", "local.txt", "sub/.gitignore", "sub/build/x.py", "sub/wanted.log",
    ]  # fmt: skip


def test_nothing_in_an_ignored_folder_comes_back(tmp_path):
    write(tmp_path, ".gitignore", content="out/\n")
    write(tmp_path, "out/.gitignore", content="!a.py\n")
    write(tmp_path, "out/a.py")
    assert names(tmp_path) == [".gitignore"]


def test_gitignore_files_above_the_root_do_not_count(tmp_path):
    write(tmp_path, ".gitignore", content="*\n")
    write(tmp_path, "root/a.py")
    assert names(tmp_path / "root") == ["a.py"]


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\n*.log\n", b"!\n*.log\n", b"[\n*.log\n", b"\x00\n*.log\n", b"[z-a]\n*.log", b"*.log"]
)
def test_odd_lines_of_a_gitignore_spoil_nothing(tmp_path, content):
    (tmp_path / ".gitignore").write_bytes(content)
    write(tmp_path, "a.log", "a.py")
    assert "a.py" in names(tmp_path)
    assert "a.log" not in names(tmp_path)


def test_a_fifo_in_place_of_a_gitignore_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / ".gitignore")
    write(tmp_path, "a.py")
    assert names(tmp_path) == ["a.py"]


def test_fifos_and_sockets_are_never_opened(tmp_path, monkeypatch):
    write(tmp_path, "a.py")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("sock")
        assert reasons(tmp_path) == {"pipe": "not a regular file", "sock": "not a regular file"}
    assert names(tmp_path) == ["a.py"]


def test_a_symbolic_link_to_a_file_inside_the_root_is_followed(tmp_path):
    write(tmp_path, "real/a.py")
    (tmp_path / "link.py").symlink_to("real/a.py")
    assert names(tmp_path) == ["link.py", "real/a.py"]


def test_other_symbolic_links_are_reported(tmp_path):
    outside = tmp_path / "outside.py"
    outside.write_text("secret\n")
    root = tmp_path / "root"
    write(root, "sub/a.py")
    (root / "away.py").symlink_to(outside)
    (root / "loop").symlink_to(root)
    (root / "sub" / "up").symlink_to("..")
    (root / "nowhere").symlink_to("missing")
    (root / "self").symlink_to("self")
    assert names(root) == ["sub/a.py"]
    assert reasons(root) == {
        "away.py": "symbolic link that leaves the root",
        "loop": "symbolic link to a folder",
        "nowhere": "symbolic link to nothing that can be read",
        "self": "symbolic link to nothing that can be read",
        "sub/up": "symbolic link to a folder",
    }


def test_a_root_may_be_a_symbolic_link(tmp_path):
    write(tmp_path, "real/a.py")
    (tmp_path / "root").symlink_to("real")
    assert names(tmp_path / "root") == ["a.py"]
    assert find_root(str(tmp_path / "root"), None).source == str(tmp_path / "real")


def test_empty_binary_and_too_large_files_are_reported(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(b"MZ\x00\x01")
    (tmp_path / "late-nul.txt").write_bytes(b"a" * 8192 + b"\x00")
    (tmp_path / "large").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    (tmp_path / "just-fits").write_bytes(b"x" * MAX_FILE_BYTES)
    assert reasons(tmp_path) == {"binary": "binary", "empty": "empty", "large": "larger than 4 MiB"}
    assert names(tmp_path) == ["just-fits", "late-nul.txt"]


def test_pdfs_and_text_in_wide_characters_are_offered_for_all_their_zero_bytes(tmp_path):
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7\n\0\0")
    (tmp_path / "b.pdf").write_bytes(b"\r\n%PDF-1.4\n\0")
    (tmp_path / "no.pdf").write_bytes(b"PK\0\0")
    for encoding in ("utf-16", "utf-32"):
        (tmp_path / f"{encoding}.txt").write_bytes("some text".encode(encoding))
    assert names(tmp_path) == ["a.pdf", "b.pdf", "utf-16.txt", "utf-32.txt"]
    assert reasons(tmp_path) == {"no.pdf": "binary"}


def test_a_name_that_is_not_utf8_is_reported_in_a_form_that_can_be_shown(tmp_path):
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))).write_text("x")
    write(tmp_path, "a.py")
    assert reasons(tmp_path) == {"caf\\xe9.txt": "name is not UTF-8"}
    assert names(tmp_path) == ["a.py"]


def test_names_with_spaces_newlines_and_other_scripts_are_taken(tmp_path):
    write(tmp_path, "a b.py", "日本語.md", "new\nline.txt")
    assert names(tmp_path) == ["a b.py", "new\nline.txt", "日本語.md"]


def test_include_and_exclude_are_globs_relative_to_the_root(tmp_path):
    write(tmp_path, "a.py", "docs/a.md", "docs/deep/b.md", "tests/t.py")
    assert names(tmp_path, include=["*.py"]) == ["a.py", "tests/t.py"]
    assert names(tmp_path, include=["*.py", "/docs/*.md"], exclude=["tests/"]) == ["a.py", "docs/a.md"]
    assert names(tmp_path, exclude=["**/deep/**"]) == ["a.py", "docs/a.md", "tests/t.py"]


@pytest.mark.parametrize("glob", ["", "  ", "!"])
def test_a_glob_that_is_none_is_refused(glob):
    with pytest.raises(InvalidRequest, match="include: "):
        PathFilter([glob], [])


def test_a_single_file_is_its_folder_with_one_file(tmp_path, monkeypatch):
    write(tmp_path, "src/a.py", "src/b.py")
    write(tmp_path, "src/.gitignore", content="a.py\n")
    monkeypatch.chdir(tmp_path)
    root = find_root("./src/a.py", None)
    assert (root.source, root.display_prefix) == (str(tmp_path / "src"), "src")
    found = scan(root, PathFilter((), ()), stopped=threading.Event(), on_count=lambda _: None)
    assert [one.relative_path for one in found.files] == ["a.py"]


@pytest.mark.parametrize(
    ("typed", "prefix"),
    [
        (".", ""),
        ("./data/raw/", "data/raw"),
        ("data//raw", "data/raw"),
        ("data/x/../raw", "data/raw"),
        ("data/raw", "data/raw"),
    ],
)
def test_the_display_prefix_is_the_root_as_typed_normalised(tmp_path, monkeypatch, typed, prefix):
    (tmp_path / "data" / "raw").mkdir(parents=True)
    (tmp_path / "data" / "x").mkdir()
    monkeypatch.chdir(tmp_path)
    root = find_root(typed, None)
    assert root.display_prefix == prefix
    assert root.source == os.path.realpath(typed)
    assert find_root(typed, "name").source == "name"


@pytest.mark.parametrize("typed", ["missing", "", "a\0b", "\udcff"])
def test_a_root_that_is_not_there_is_refused(tmp_path, monkeypatch, typed):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidRequest, match="path: "):
        find_root(typed, None)


def test_a_root_that_is_a_fifo_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidRequest, match="path: "):
        find_root(str(tmp_path / "pipe"), None)


def test_a_stopped_scan_ends(tmp_path):
    write(tmp_path, "a.py", "b.py")
    stopped = threading.Event()
    stopped.set()
    assert (
        scan(find_root(str(tmp_path), None), PathFilter((), ()), stopped=stopped, on_count=lambda _: None).files == ()
    )


def test_what_cannot_be_read_is_reported_as_unreadable(tmp_path):
    """Run as nobody, since the tests may run as root, whom permissions do not stop."""
    if os.getuid() != 0:
        pytest.skip("needs root to become somebody else")
    root = tmp_path / "tree"
    write(root, "open.py", "closed.py", "folder/a.py")
    (root / "closed.py").chmod(0)
    (root / "folder").chmod(0)
    for folder in (root, *root.parents):
        if folder.is_relative_to(tempfile.gettempdir()) and folder != Path(tempfile.gettempdir()):
            folder.chmod(folder.stat().st_mode | 0o055)
    code = (
        "import os, sys, threading\n"
        "from client._ignore import PathFilter\n"
        "from client._walk import find_root, scan\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "root = find_root(sys.argv[1], None)\n"
        "found = scan(root, PathFilter((), ()), stopped=threading.Event(), on_count=lambda _: None)\n"
        "print([one.relative_path for one in found.files])\n"
        "print([(one.relative_path, one.reason, one.unreadable) for one in found.skipped])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "['open.py']",
        str([("closed.py", DENIED, True), ("folder/", f"folder {DENIED}", True)]),
    ], done.stderr
