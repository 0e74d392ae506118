"""What an ablation is measured on: indexes of four trees, and the labelled queries over them."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.stage import SHARED_DIR, TREE, CannotMeasureError, fetch_vllm
from client.cli.dataset_file import Source, read_dataset
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.database.schema import connect
from retrieval_server.corpus.files.collection_directories import CollectionDirectories
from retrieval_server.corpus.files.layout import DATABASE
from retrieval_server.engine.encoding.encoder import Encoder
from retrieval_server.engine.encoding.windows import WINDOWS_VERSION
from tests.support.client import run_client
from tests.support.processes import PROJECT_DIR, Server
from tests.support.trees import TREES, fetched

VLLM = "vllm"
TREE_NAMES = (VLLM, *(tree.name for tree in TREES))
INDEX_TIMEOUT_S = 900.0
_COLLECTION = "default"
_QUESTIONS = PROJECT_DIR / "tests" / "quality" / "trees"


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A query, the group that it is counted in, and what is right: spans, or else files."""

    text: str
    group: str
    spans: tuple[Source, ...] = ()
    files: frozenset[str] = frozenset()


def labelled_queries(tree_name: str) -> list[LabelledQuery]:
    """Return the queries over a tree, those of other trees than vLLM in groups of their own."""
    if tree_name == VLLM:
        folder = SHARED_DIR / "datasets" / "vllm-0.10.1" / "AnsweredQuestions"
        return [
            LabelledQuery(one.question, f"vllm {kind}", one.sources)
            for kind in ("docs", "code")
            for one in read_dataset(str(folder / f"dataset_{kind}_public.json")).questions
        ]
    folder = _QUESTIONS / tree_name
    precise = read_dataset(str(folder / "precise.json")).questions
    queries = [
        LabelledQuery(one.question, f"trees {'docs' if '-docs-' in one.question_id else 'code'}", one.sources)
        for one in precise
    ]
    return queries + [
        LabelledQuery(one["query"], kind, files=frozenset(one["relevant_files"]))
        for kind in ("concept", "symbol")
        for one in _topics(folder / f"{kind}.json")
    ]


def _topics(path: Path) -> Iterator[dict[str, Any]]:
    yield from json.loads(path.read_text(encoding="utf-8"))["queries"]


def opened_index(home: Path, tree_name: str, corpora_dir: Path, encoder: Encoder) -> Collection:
    """Open the index of a tree below `home`, made by a real server if it is not there yet.

    Raises CannotMeasureError.
    """
    place = home / tree_name
    if not place.is_dir():
        # What was interrupted is not taken for a whole one.
        unfinished = home / f".{tree_name}.{os.getpid()}"
        try:
            _build(unfinished, tree_name, corpora_dir)
            unfinished.rename(place)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    directory = CollectionDirectories(place / "data" / "collections").current(_COLLECTION)
    if not directory.is_dir():
        raise CannotMeasureError(f"no index in {place}: remove that folder, and it is made again")
    # Opening it would make the collection forget vectors that another version made.
    if _vectors_of(directory / DATABASE) != f"{encoder.fingerprint}/{WINDOWS_VERSION}":
        raise CannotMeasureError(
            f"another version made the vectors in {place}: remove that folder, and it is made again"
        )
    collection = Collection(_COLLECTION, directory, encoder.fingerprint, encoder.dimension)
    problem = collection.problem or ("" if collection.current_view.dense else "it lacks vectors")
    if problem:
        collection.close()
        raise CannotMeasureError(f"the index in {place}: {problem}; remove that folder, and it is made again")
    return collection


def _vectors_of(database: Path) -> str | None:
    with closing(connect(database, read_only=True)) as connection:
        found = connection.execute("SELECT value FROM meta WHERE key = 'vectors_of'").fetchone()
    return None if found is None else str(found[0])


def _build(directory: Path, tree_name: str, corpora_dir: Path) -> None:
    if tree_name == VLLM:
        fetch_vllm(corpora_dir)
        root, folder = corpora_dir, TREE
    else:
        try:
            root, folder = fetched(next(tree for tree in TREES if tree.name == tree_name)), "."
        except pytest.skip.Exception as problem:
            raise CannotMeasureError(str(problem)) from problem
    server = Server(directory, redis_url="redis://127.0.0.1:1/0")
    server.start()
    try:
        run_client(server.address, "index", folder, "--wait", cwd=root, timeout_s=INDEX_TIMEOUT_S).assert_ok()
    finally:
        server.stop()
