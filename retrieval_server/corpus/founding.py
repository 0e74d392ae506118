"""Making a collection that holds nothing yet."""

from pathlib import Path

from retrieval_server.corpus.collection_settings import CollectionSettings
from retrieval_server.corpus.layout import DATABASE
from retrieval_server.corpus.store import CorpusStore


def found_collection(directory: Path, settings: CollectionSettings) -> None:
    """Fill a directory that is yet to make with a collection's database; opening it makes the rest from that.

    Raises OSError, sqlite3.Error or GroundwireError when it cannot be written.
    """
    directory.mkdir(parents=True)
    store = CorpusStore(directory / DATABASE)
    try:
        store.set_meta(**settings.to_meta())
        store.create_time_unix_ms()
    finally:
        store.close()
