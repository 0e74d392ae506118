"""Rebuilding a collection from its originals."""

from pathlib import Path

import pytest

from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.database.document_rows import StoredDocument
from retrieval_server.corpus.database.reader import CorpusReader
from retrieval_server.corpus.writing import rebuilding
from tests.retrieval_server.corpus.support import change, parsed


async def test_no_more_is_in_memory_at_once_than_a_batch_may_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    read: list[list[int]] = []
    originals_of = CorpusReader.originals_of

    def noted(reader: CorpusReader, documents: list[StoredDocument]) -> dict[int, bytes]:
        read.append([document.original_bytes for document in documents])
        return originals_of(reader, documents)

    monkeypatch.setattr(CorpusReader, "originals_of", noted)
    monkeypatch.setattr(rebuilding, "_BATCH_BYTES", 2000, raising=False)
    catalog = Catalog(tmp_path, None)
    await catalog.open_all()
    opened = await catalog.get_or_create("c")
    sizes = [900, 900, 900, 5000, 100, 100]
    await opened.write(Collection.apply, change(*(parsed(f"{i}.md", "a " * (n // 2)) for i, n in enumerate(sizes))))
    *_, last = [progress async for progress in catalog.rebuild("c", full=True).follow()]
    await catalog.close()
    assert (last.done_count, last.total_count, last.kept_count) == (6, 6, 0)
    assert read == [[900, 900], [900], [5000], [100, 100]]
