"""What a sync keeps: vectors of what only lies elsewhere now, and places that are right wherever it lies."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import client as groundwire
from tests.support.client import ClientRun, run_client
from tests.support.deadline import wait_until
from tests.support.processes import Server

Index = Callable[..., ClientRun]
SECTION_COUNT = 40


@pytest.fixture
def library(server: Server) -> Iterator[groundwire.Client]:
    with groundwire.Client(server.address) as opened:
        yield opened


@pytest.fixture
def index(server: Server, collection: str, tmp_path: Path, library) -> Index:
    """Run `client index` on the test's tree, in which each section of `locks/guide.md` is a chunk of its own."""
    (tmp_path / "tree" / "locks").mkdir(parents=True)
    sections = (f"## Lock {number}\n\n{f'The gate of lock {number} opens at noon. ' * 8}\n" for number in range(40))
    (tmp_path / "tree" / "locks" / "guide.md").write_text("# Guide\n\n" + "\n".join(sections), encoding="utf-8")
    (tmp_path / "tree" / "pump.py").write_text('def drain(basin):\n    """Empty a basin."""\n    return basin.level\n')

    def run(*arguments: str) -> ClientRun:
        command = ("index", "tree", "--collection", collection, "--max-chunk-size", "500", *arguments)
        ran = run_client(server.address, *command, cwd=tmp_path).assert_ok()
        wait_until(lambda: library.corpus_stats(collection).dense_coverage == 1, timeout_s=60, what="vectors")
        return ran

    run()
    return run


def vector_rows(server: Server, collection: str) -> dict[bytes, int]:
    """Key of each vector → its row, which is another one when the vector was stored anew."""
    (directory,) = (server.data_dir / "collections").glob(f"{collection}*")
    with closing(sqlite3.connect(f"file:{directory}/corpus.sqlite?mode=ro", uri=True)) as connection:
        return dict(connection.execute("SELECT text_sha256, rowid FROM vectors").fetchall())


def lock_line(library: groundwire.Client, collection: str, number: int) -> tuple[str, int]:
    """Where the section on a lock is, by vectors alone; its lines must be those of the document."""
    dense = groundwire.FusionOverrides(lexical_weight=0.0)
    found = library.retrieve(f"Lock {number} gate opens at noon", k=100, collection=collection, fusion=dense).passages
    (passage,) = [one for one in found if f"## Lock {number}\n" in one.text]
    text = library.get_document(passage.path, collection=collection).text
    lines = text.splitlines(keepends=True)
    assert passage.text in "".join(lines[passage.start_line - 1 : passage.end_line])
    assert text[passage.start_char : passage.end_char] == passage.text
    return passage.path, passage.start_line


def test_moved_and_renamed_files_keep_all_their_vectors(
    server: Server, index: Index, library, collection: str, tmp_path: Path
) -> None:
    before = vector_rows(server, collection)
    assert len(before) > SECTION_COUNT
    tree = tmp_path / "tree"
    (tree / "canal").mkdir()
    (tree / "locks" / "guide.md").rename(tree / "canal" / "handbook.md")
    (tree / "pump.py").rename(tree / "canal" / "drainage.py")
    told = index("--prune", "--json").json["summary"]
    assert (told["added_count"], told["removed_count"]) == (2, 2)
    # All of them were there when the sync was acknowledged.
    assert told["dense_coverage"] == 1
    assert vector_rows(server, collection) == before
    assert lock_line(library, collection, 17)[0] == "tree/canal/handbook.md"
    lexical = library.retrieve("lock 17 handbook", k=1, collection=collection).passages
    assert lexical[0].path == "tree/canal/handbook.md"
    # Without --prune the old path stays, and so may what it shares with the new one.
    (tree / "canal" / "handbook.md").rename(tree / "handbook.md")
    index()
    assert vector_rows(server, collection) == before


def test_lines_are_refreshed_where_the_text_is_unchanged(
    server: Server, index: Index, library, collection: str, tmp_path: Path
) -> None:
    before = vector_rows(server, collection)
    _, line = lock_line(library, collection, 30)
    guide = tmp_path / "tree" / "locks" / "guide.md"
    guide.write_text("# Guide\n\n## Preface\n\nNew lines\n\nabove it all.\n\n" + guide.read_text().partition("\n\n")[2])
    index()
    assert lock_line(library, collection, 30) == ("tree/locks/guide.md", line + 6)
    after = vector_rows(server, collection)
    assert len(after.keys() - before.keys()) <= 2  # the preface, and what shares a chunk with it
    assert all(after[key] == row for key, row in before.items() if key in after)
