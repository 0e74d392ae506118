"""A collection's directory made of a snapshot."""

import sqlite3
from contextlib import closing
from pathlib import Path

from retrieval_server.corpus.files.layout import DATABASE, LEXICAL_STATE
from retrieval_server.corpus.lexical.lexical_state import LexicalState
from retrieval_server.corpus.snapshots.about import Snapshot
from retrieval_server.corpus.snapshots.snapshot_files import copy_snapshot


def restore_into(target: Path, source: Path, snapshot: Snapshot, *, above_generation: int, above_epoch: int) -> None:
    """Fill `target` from the snapshot at `source`, its generation and vector epoch above those given.

    Both rise, though the content goes back: what callers remember of a generation must not come to mean another one.
    """
    copy_snapshot(source, target, mends=True)
    generation = max(snapshot.generation, above_generation) + 1
    with closing(sqlite3.connect(target / DATABASE, isolation_level=None)) as connection:
        stored_epoch = connection.execute("SELECT value FROM meta WHERE key = 'vector_epoch'").fetchone()
        epoch = max(int(stored_epoch[0]) if stored_epoch else 0, above_epoch) + 1
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)",
            [("generation", str(generation)), ("vector_epoch", str(epoch))],
        )
        connection.execute("COMMIT")
    lexical = LexicalState(target / LEXICAL_STATE)
    if lexical.read() == snapshot.generation:
        lexical.record(generation)
