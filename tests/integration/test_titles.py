"""A title that a caller sets is found by its words, in both lists, and follows what the caller sets next."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import client as groundwire
from tests.support.client import run_client
from tests.support.deadline import wait_until
from tests.support.processes import Server

LEXICAL = groundwire.FusionOverrides(dense_weight=0.0)
DENSE = groundwire.FusionOverrides(lexical_weight=0.0)
FIRST, SECOND = "Quarantine of migratory falcons", "Welding of titanium pipes"


@pytest.fixture
def library(server: Server, collection: str) -> Iterator[groundwire.Client]:
    with groundwire.Client(server.address) as opened:
        for number in range(12):
            text = f"# Entry {number}\n\nBerth {number} is let to the harbour office by the month.\n"
            opened.put_document(f"{number}.md", text, collection=collection)
        yield opened


def first(library: groundwire.Client, query: str, collection: str, fusion: groundwire.FusionOverrides) -> str:
    found = library.retrieve(query, k=1, collection=collection, fusion=fusion).passages
    return found[0].path if found else ""


def score(library: groundwire.Client, query: str, collection: str) -> float:
    """What the dense list gives the document of the tests."""
    found = library.retrieve(query, k=50, collection=collection, fusion=DENSE, explain=True).passages
    (passage,) = [one for one in found if one.path == "note.md"]
    return next(one.raw_score for one in passage.list_scores if one.list == "dense")


def test_a_title_that_was_put_is_found_and_one_that_was_changed_replaces_it(library, collection: str) -> None:
    text = "# Notes\n\nAll is recorded in the second folder.\n"
    put = library.put_document("note.md", text, collection=collection, title=FIRST)
    assert first(library, "falcon quarantine", collection, LEXICAL) == "note.md"
    assert first(library, "sick birds of prey are kept apart", collection, DENSE) == "note.md"
    was = score(library, FIRST, collection)
    library.update_document(put.document.document_id, collection=collection, title=SECOND)
    assert first(library, "falcon quarantine", collection, LEXICAL) == ""
    assert first(library, "titanium pipe", collection, LEXICAL) == "note.md"
    assert first(library, "joining metal tubes", collection, DENSE) == "note.md"
    assert score(library, FIRST, collection) < was - 0.1
    # The text, its offsets and its headings are as they were.
    (passage,) = library.retrieve("titanium", collection=collection, fusion=LEXICAL).passages
    assert (passage.text, passage.breadcrumbs) == (text[passage.start_char : passage.end_char], ("Notes",))


def test_a_title_outlives_a_sync_a_rebuild_and_a_fresh_index(
    server: Server, library, collection: str, tmp_path: Path
) -> None:
    (tmp_path / "tree").mkdir()
    note = tmp_path / "tree" / "note.md"
    note.write_text("# Notes\n\nAll is recorded in the second folder.\n", encoding="utf-8")

    def index() -> None:
        run_client(server.address, "index", "tree", "--collection", collection, cwd=tmp_path).assert_ok()

    def check() -> None:
        assert first(library, "falcon quarantine", collection, LEXICAL) == "tree/note.md"
        wait_until(lambda: library.corpus_stats(collection).dense_coverage == 1, timeout_s=60, what="vectors")
        assert first(library, "sick birds of prey are kept apart", collection, DENSE) == "tree/note.md"

    index()
    stored = library.get_document("tree/note.md", collection=collection)
    library.update_document(stored.document_id, collection=collection, title=FIRST)
    check()
    note.write_text("# Notes\n\nAll is recorded in the third folder now.\n", encoding="utf-8")
    index()
    check()
    # Edited documents leave dead rows behind, for which the index is built afresh soon.
    wait_until(lambda: library.corpus_stats(collection).stale_chunk_count == 0, timeout_s=60, what="compaction")
    check()
    run_client(server.address, "rebuild", "--collection", collection, "--full", cwd=tmp_path).assert_ok()
    check()


def test_a_very_long_title_does_not_hide_the_headings(library, collection: str) -> None:
    text = "# Quarantine of migratory falcons\n\nAll is recorded in the second folder.\n"
    library.put_document("note.md", text, collection=collection, title="Long words of no consequence " * 30)
    assert first(library, "sick birds of prey are kept apart", collection, DENSE) == "note.md"
    assert first(library, "consequence", collection, LEXICAL) == "note.md"
