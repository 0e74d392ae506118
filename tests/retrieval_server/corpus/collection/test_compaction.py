"""When the lexical index of an open collection is built afresh."""

from pathlib import Path

from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection import Collection
from tests.retrieval_server.corpus.support import change, parsed

_MAX_EDITS = 400


async def test_edits_that_never_pause_do_not_put_a_fresh_index_off_for_ever(tmp_path: Path):
    """What is dead would take ever more of the disk, and weigh ever more on the statistics."""
    catalog = Catalog(tmp_path, None)
    await catalog.open_all()
    opened = await catalog.get_or_create("c")
    for edit in range(_MAX_EDITS):
        await opened.write(Collection.apply, change(parsed("a.md", f"alpha {edit}")))
        if opened.collection.stale_chunk_count < edit:
            break
    dead_count = opened.collection.stale_chunk_count
    await catalog.close()
    assert dead_count < _MAX_EDITS - 1
