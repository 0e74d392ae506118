"""Indexing opens each source file once, in the client and nowhere else; an audit hook in every process counts."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.client import run_client
from tests.support.processes import PROJECT_DIR, Server, ServiceProcess

HOOK = PROJECT_DIR / "tests" / "support" / "open_audit"
FILE_COUNT = 310  # enough for the server to parse on processes of its own


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files of several kinds, with all that a walk looks into before it takes it."""
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "pkg.egg-info").mkdir()
    for number in range(FILE_COUNT):
        (tree / "sub" / f"{number}.md").write_text(f"# Chapter {number}\n\nThe sluice of berth {number}.\n")
    (tree / ".gitignore").write_text("*.log\n")
    (tree / "sub" / ".gitignore").write_text("ignored/\n")
    (tree / "pkg.egg-info" / "SOURCES.txt").write_text("sub/0.md\n")
    (tree / "large.txt").write_text("A line of a large file.\n" * 100_000)
    (tree / "binary.bin").write_bytes(bytes(range(256)))
    (tree / "out.log").write_text("not wanted\n")
    return tree


@pytest.fixture
def opened(
    tree: Path,
    tmp_path: Path,
    own_process: Callable[[ServiceProcess], ServiceProcess],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[], Counter[str]]:
    """Index the tree and return how often each of its files was opened, by whichever process."""
    log = tmp_path / "opened.log"
    for name, value in (("PYTHONPATH", HOOK), ("OPEN_AUDIT_TREE", tree), ("OPEN_AUDIT_LOG", log)):
        monkeypatch.setenv(name, os.fspath(value))
    server = Server(tmp_path / "server", redis_url="redis://127.0.0.1:1/0", GROUNDWIRE_ENCODER="hashing")
    own_process(server).start()
    watched = {line.split("\t")[0] for line in log.read_text(encoding="utf-8").splitlines()}

    def index() -> Counter[str]:
        log.write_bytes(b"")
        run_client(server.address, "index", "tree", "--prune", cwd=tmp_path).assert_ok()
        lines = [line.split("\t") for line in log.read_text(encoding="utf-8").splitlines()]
        opened_by = {process for process, path in lines if path != "."}
        assert len(opened_by) == 1, "only the client opens them"
        watched.update(process for process, path in lines if path == ".")
        assert watched >= {str(server.pid), *opened_by}
        return Counter(path for _, path in lines if path != ".")

    return index


def test_each_file_is_opened_once_however_much_changed(opened: Callable[[], Counter[str]], tree: Path) -> None:
    taken = {os.fspath(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()} - {"out.log"}
    once = dict.fromkeys(taken, 1)
    assert opened() == once
    assert opened() == once
    (tree / "sub" / "3.md").write_text("Changed.\n")
    (tree / "sub" / "4.md").rename(tree / "moved.md")
    moved = {path: 1 for path in taken if path != "sub/4.md"} | {"moved.md": 1}
    assert opened() == moved
