"""Whether a collection is what it must be: by its own word, by what it finds, and by its files id by id."""

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import tantivy
from numpy.typing import NDArray

import client as groundwire
from tests.chaos.corpus.model import COLLECTION, WORD_EVERYWHERE, Expected, State
from tests.support.deadline import wait_until

_LIVING_CHUNKS = """
    SELECT c.chunk_id, d.document_id || ':' || c.start_char || '-' || c.end_char, c.embedded,
        (SELECT count(*) FROM windows w JOIN vectors USING (text_sha256) WHERE w.chunk_id = c.chunk_id)
    FROM chunks c JOIN documents d USING (document_row) WHERE d.died_generation IS NULL
"""
_LIVING_VECTORS = """
    SELECT w.chunk_id, v.vector FROM windows w JOIN vectors v USING (text_sha256)
    JOIN chunks c USING (chunk_id) JOIN documents d USING (document_row)
    WHERE d.died_generation IS NULL AND w.chunk_id <= ? ORDER BY w.chunk_id, w.ordinal
"""


def stored_state(client: groundwire.Client) -> dict[str, tuple[bytes, str, str]]:
    """What the server says that it holds: display path → hash of the content, title, tag."""
    return {
        one.path: (one.content_sha256, one.title, str(one.metadata.get("tag", "")))
        for one in client.list_documents(collection=COLLECTION)
    }


def shown(state: State) -> dict[str, tuple[bytes, str, str]]:
    """What it must say."""
    return {
        path: (hashlib.sha256(expected.text.encode()).digest(), _title(expected), expected.tag)
        for path, expected in state.items()
    }


def check_agreement(client: groundwire.Client, state: State, data_dir: Path) -> None:
    """Texts, both lists of searches, Tantivy's files and SQLite all hold just what `state` has."""
    wait_until(lambda: client.corpus_stats(COLLECTION).dense_coverage >= 1, timeout_s=100, what="vectors are complete")
    lexical = _found(client, groundwire.FusionOverrides(dense_weight=0.0))
    dense = _found(client, groundwire.FusionOverrides(lexical_weight=0.0))
    directory = wait_until(lambda: _directory(data_dir), timeout_s=60, what="one directory of the collection")
    with closing(sqlite3.connect(f"file:{directory}/corpus.sqlite?mode=ro", uri=True)) as connection:
        rows = connection.execute(_LIVING_CHUNKS).fetchall()
        (broken,) = connection.execute("PRAGMA integrity_check").fetchone()
    assert broken == "ok", broken
    assert {row[1] for row in rows} == set(lexical), "the lexical view and SQLite"
    assert {row[1] for row in rows} == set(dense), "the dense view and SQLite"
    assert all(row[2] and row[3] for row in rows), "a chunk without its vectors"
    chunk_ids = {row[0] for row in rows}
    lexical_directory = directory / "lexical"
    wait_until(
        lambda: _indexed_chunk_ids(lexical_directory) == chunk_ids,
        timeout_s=60,
        what="Tantivy's files agree with SQLite",
    )
    wait_until(lambda: _segments_agree(directory), timeout_s=60, what="the segments on disk agree with SQLite")
    for found in (lexical, dense):
        for path, text in found.values():
            assert text in state[path].text, f"a passage that {path} does not hold"
        assert {path for path, _ in found.values()} == set(state)


def _found(client: groundwire.Client, fusion: groundwire.FusionOverrides) -> dict[str, tuple[str, str]]:
    result = client.retrieve(WORD_EVERYWHERE, k=1000, collection=COLLECTION, fusion=fusion)
    return {passage.passage_id: (passage.path, passage.text) for passage in result.passages}


def _directory(data_dir: Path) -> Path | None:
    """The only one; another may be there until it is removed."""
    found = list((data_dir / "collections").glob(f"{COLLECTION}*"))
    return found[0] if len(found) == 1 else None


def _indexed_chunk_ids(directory: Path) -> set[int] | None:
    """None where the index is being made afresh."""
    try:
        searcher = tantivy.Index.open(str(directory)).searcher()
    except ValueError:
        return None
    if searcher.num_docs == 0:
        return set()
    hits = searcher.search(tantivy.Query.all_query(), searcher.num_docs).hits
    return set(searcher.fast_field_values("chunk_id", [address for _, address in hits]))


def _segments_agree(directory: Path) -> bool:
    """Whether segments hold the vectors of every living chunk that they cover; they may be replaced meanwhile."""
    manifest = directory / "dense" / "segments.json"
    if not manifest.exists():
        return True
    segments = json.loads(manifest.read_text())["segments"]
    through = segments[-1]["through_chunk_id"] if segments else 0
    with closing(sqlite3.connect(f"file:{directory}/corpus.sqlite?mode=ro", uri=True)) as connection:
        rows = connection.execute(_LIVING_VECTORS, (through,)).fetchall()
    stored: dict[int, list[NDArray[np.float32]]] = defaultdict(list)
    for chunk_id, vector in rows:
        stored[chunk_id].append(np.frombuffer(vector, np.float32))
    try:
        found = _segment_vectors(directory / "dense", [segment["name"] for segment in segments])
    except FileNotFoundError:
        return False
    return all(_is_same(vectors, found.get(chunk_id, [])) for chunk_id, vectors in stored.items())


def _segment_vectors(directory: Path, names: list[str]) -> Mapping[int, list[NDArray[np.float32]]]:
    vectors: dict[int, list[NDArray[np.float32]]] = defaultdict(list)
    for name in names:
        ids = np.fromfile(directory / name / "ids.i64", np.int64)
        rows = np.fromfile(directory / name / "vectors.f32", np.float32).reshape(len(ids), -1)
        for chunk_id, row in zip(ids.tolist(), rows, strict=True):
            vectors[chunk_id].append(row)
    return vectors


def _is_same(stored: list[NDArray[np.float32]], found: list[NDArray[np.float32]]) -> bool:
    return len(stored) == len(found) and all(
        np.allclose(one / np.linalg.norm(one), other, atol=1e-5) for one, other in zip(stored, found, strict=True)
    )


def _title(expected: Expected) -> str:
    """What was set, else what the document begins with."""
    return expected.title or expected.text.partition("\n")[0].removeprefix("# ")
