"""What is read of a database belongs together, whatever is committed meanwhile."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.database.reader import CorpusReader
from tests.retrieval_server.corpus.support import change, parsed


def test_counts_are_those_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    collection = Collection("c", tmp_path, "", None)
    collection.apply(change(parsed("a.py", "alpha = 1")))
    count_chunks = CorpusReader.chunk_counts

    def commit_and_count(reader: CorpusReader) -> tuple[int, int, int]:
        with ThreadPoolExecutor(1) as writer:
            writer.submit(collection.apply, change(parsed("b.py", "beta = 1"))).result()
        return count_chunks(reader)

    monkeypatch.setattr(CorpusReader, "chunk_counts", commit_and_count)
    with ThreadPoolExecutor(1) as reading:
        counts = reading.submit(collection.reader.counts).result()
    collection.close()
    assert (counts.document_count, counts.chunk_count) == (1, 1)
    assert [source.document_count for source in counts.sources] == [1]
