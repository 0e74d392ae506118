"""The same tree gives the same results, byte for byte, however the index came to hold it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.client import run_client
from tests.support.datasets import write_dataset
from tests.support.processes import Server, ServiceProcess

Own = Callable[[ServiceProcess], ServiceProcess]


@pytest.fixture
def home(tmp_path: Path, project_dir: Path) -> Path:
    """A folder with a tree of prose and code to index as `tree`, and a dataset."""
    shutil.copytree(project_dir / "examples" / "harbour", tmp_path / "home" / "tree")
    shutil.copytree(project_dir / "deploy", tmp_path / "home" / "tree" / "deploy", ignore=shutil.ignore_patterns("__*"))
    write_dataset(tmp_path / "home" / "questions.json")
    return tmp_path / "home"


def index(server: Server, home: Path) -> None:
    run_client(server.address, "index", "tree", "--prune", "--wait", cwd=home).assert_ok()


def result_bytes(server: Server, home: Path, label: str) -> bytes:
    save = ("--save-directory", f"results/{label}")
    run_client(server.address, "search-dataset", "questions.json", "--k", "10", *save, cwd=home).assert_ok()
    (written,) = (home / "results" / label).glob("*.json")
    return written.read_bytes()


def test_fresh_indexes_and_one_whose_edits_were_reverted_give_identical_files(
    home: Path, tmp_path: Path, valkey: object, own_process: Own
) -> None:
    del valkey  # retrieval needs no queue, but an absent one would fill the log
    results = []
    for label in ("first", "second"):
        server = Server(tmp_path / label, redis_url="redis://127.0.0.1:1/0")
        own_process(server).start()
        index(server, home)
        results.append(result_bytes(server, home, label))
        server.stop()

    edited = Server(tmp_path / "edited", redis_url="redis://127.0.0.1:1/0")
    own_process(edited).start()
    original = {path: path.read_bytes() for path in (home / "tree").rglob("*") if path.is_file()}
    signals = home / "tree" / "handbook" / "signals.md"
    signals.write_text("# Lamps\n\nThree red lamps mean that the bakery is shut.\n", encoding="utf-8")
    (home / "tree" / "handbook" / "berths.md").unlink()
    (home / "tree" / "extra.md").write_text("The guest pontoon is painted yellow.\n", encoding="utf-8")
    index(edited, home)
    assert result_bytes(edited, home, "while-edited") != results[0]
    (home / "tree" / "extra.md").unlink()
    for path, content in original.items():
        path.write_bytes(content)
    index(edited, home)
    results.append(result_bytes(edited, home, "edited"))
    assert results[0] == results[1]
    assert results[0] == results[2]
    edited.stop()
    edited.start()
    assert result_bytes(edited, home, "restarted") == results[0]
