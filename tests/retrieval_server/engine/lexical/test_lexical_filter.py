"""The BM25 list within a part of the collection: what a filter leaves of the whole list, in its order."""

from collections.abc import Iterator

import numpy as np
import pytest

from retrieval_server.engine.lexical.bm25 import LexicalEntry, LexicalIndex, LexicalView, lexical_query
from retrieval_server.engine.places.chunk_set import ChunkSet
from retrieval_server.engine.places.chunk_table import ChunkTable, DocumentFacts
from retrieval_server.engine.places.filters import Allowed
from retrieval_server.model import ContentKind

DOCUMENTS, CHUNKS_EACH = 2600, 3
CHUNKS = DOCUMENTS * CHUNKS_EACH
QUERY = lexical_query("alpha beta gamma")


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LexicalView]:
    """Chunk i has alpha more often the smaller i is, so that late chunks are far below the top."""
    rng = np.random.default_rng(3)
    index = LexicalIndex(tmp_path_factory.mktemp("lexical"))
    for i in range(CHUNKS):
        extra = ["beta"] * int(rng.integers(0, 2)) + ["filler"] * int(rng.integers(0, 20))
        alphas = ["alpha"] * (1 + 40 * (CHUNKS - i) // CHUNKS)
        index.stage(LexicalEntry(i, i // CHUNKS_EACH, " ".join(alphas + extra)))
    index.commit(())
    yield index.view()
    index.close()


@pytest.fixture(scope="module")
def table() -> ChunkTable:
    documents = [DocumentFacts(i, f"d{i}", f"{i}", f"{i}", "text", ContentKind.DOCS) for i in range(DOCUMENTS)]
    rows = np.array([(i, i // CHUNKS_EACH, i % CHUNKS_EACH) for i in range(CHUNKS)], np.int64)
    return ChunkTable.of_rows(documents, rows)


@pytest.mark.parametrize(
    "chunk_ids",
    [
        range(CHUNKS - 10, CHUNKS),
        range(CHUNKS - 2000, CHUNKS),
        range(CHUNKS - 6000, CHUNKS),
        range(0, CHUNKS, 7),
        range(2, CHUNKS, 3),
        range(CHUNKS),
        [CHUNKS - 1],
    ],
    ids=["ten", "some", "most", "spread", "one of each document", "all", "one"],
)
@pytest.mark.parametrize("limit", [1, 60, 1000])
def test_a_filtered_search_finds_what_the_filter_leaves_of_the_whole_list(
    view: LexicalView, table: ChunkTable, chunk_ids: range | list[int], limit: int
):
    allowed, inside = Allowed.of(ChunkSet(chunk_ids), table), set(chunk_ids)
    everything = view.search(QUERY, CHUNKS)
    assert len(everything) == CHUNKS
    expected = [score for chunk_id, score in everything if chunk_id in inside]
    found = view.search(QUERY, limit, allowed)
    assert len(found) >= min(limit, len(chunk_ids))
    assert [score for _, score in found] == expected[: len(found)]
    assert {chunk_id for chunk_id, _ in found} <= inside


def test_only_chunks_with_a_term_are_found(view: LexicalView, table: ChunkTable):
    allowed = Allowed.of(ChunkSet(range(CHUNKS)), table)
    assert view.search(lexical_query("delta"), 10, allowed) == []
    assert view.search(QUERY, 10, Allowed.of(ChunkSet([]), table)) == []


def test_chunks_that_the_index_lacks_are_not_waited_for(view: LexicalView, table: ChunkTable):
    allowed = Allowed(ChunkSet([CHUNKS + 5]), np.array([DOCUMENTS + 5]), 1)
    assert view.search(QUERY, 10, allowed) == []
