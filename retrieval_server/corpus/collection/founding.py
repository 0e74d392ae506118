"""Making a collection that holds nothing yet."""

from pathlib import Path

from retrieval_server.corpus.collection.collection_settings import CollectionSettings
from retrieval_server.corpus.database.store import CorpusStore
from retrieval_server.corpus.files.layout import DATABASE


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
