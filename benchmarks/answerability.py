"""The constants of `engine/answerability.py`, fitted anew, and what they are worth on a tree that was left out.

`python -m benchmarks.answerability [--data-dir DIR]`; DIR as for `benchmarks.ablation`, whose indexes serve. Fitted on
the questions that four trees can and cannot answer, each tree and both kinds weighing alike.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import platformdirs
from numpy.typing import NDArray

from benchmarks.ablation_sets import TREE_NAMES, labelled_queries, opened_index
from benchmarks.stage import CannotMeasureError
from groundwire.models.locate import encoder_files
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.engine import retriever
from retrieval_server.engine.encoding.encoder import MiniLmEncoder
from retrieval_server.engine.judging.answerability import ANSWERABILITY_THRESHOLD, answerability
from retrieval_server.engine.ranking.dense_list import Encode
from retrieval_server.generation.checking.reading import missing_words
from retrieval_server.model import RetrieveQuery
from tests.quality.measures import roc_auc, wilson

K = 10
READ_K = 5
KINDS = ("other_domain", "absent_fact", "near_miss")
UNANSWERABLE = Path(__file__).resolve().parents[1] / "tests" / "quality" / "unanswerable"
NAMES = ("bias", "coverage", "cosine", "unknown", "lacks name")
_PENALTY = 0.1
_STEP_COUNT = 80


class Asked(NamedTuple):
    """A question of a tree: "answerable" or its kind, the features, and whether reading finds that something lacks."""

    tree: str
    kind: str
    features: tuple[float, ...]
    is_missing: bool

    @property
    def is_answerable(self) -> bool:
        """Whether the tree answers it."""
        return self.kind == "answerable"


def questions(tree: str) -> Iterator[tuple[str, str]]:
    """Yield the questions of a tree and their kinds."""
    yield from ((query.text, "answerable") for query in labelled_queries(tree) if query.spans)
    file = UNANSWERABLE / f"{'questions' if tree == 'vllm' else tree}.json"
    for one in json.loads(file.read_text("utf-8"))["questions"]:
        yield one["question"], one["kind"]


def asked(tree: str, collection: Collection, encode: Encode | None) -> list[Asked]:
    """Ask every question of a tree; without `encode` by words alone, and no cosine tells."""
    judged: list[tuple[float, ...]] = []

    def noted(covered: float, best_cosine: float | None, unknown: float, *, lacks_name: bool) -> float:
        judged.append((covered, best_cosine or 0.0, unknown, float(lacks_name)))
        return answerability(covered, best_cosine, unknown, lacks_name=lacks_name)

    found = []
    with patch.object(retriever, "answerability", noted), collection.view() as view:
        for text, kind in questions(tree):
            judged[:] = [(0.0, 0.0, 1.0, 1.0)]  # nothing is judged when nothing is found
            passages = retriever.retrieve(RetrieveQuery(text, k=K), view, encode).passages
            found.append(Asked(tree, kind, judged[-1], bool(missing_words(text, passages[:READ_K]))))
    return found


def fitted(rows: Sequence[Asked]) -> NDArray[np.float64]:
    """Return the constants, bias first: (n_features + 1,) float64, by Newton's method with a penalty on the slopes."""
    matrix = np.array([(1.0, *row.features) for row in rows])
    answerable = np.array([row.is_answerable for row in rows], dtype=np.float64)
    groups = [(row.tree, row.is_answerable) for row in rows]
    weights = np.array([1 / groups.count(group) for group in groups])
    weights *= len(rows) / weights.sum()
    penalty = np.array([1e-9] + [_PENALTY] * (matrix.shape[1] - 1))
    constants = np.zeros(matrix.shape[1])
    for _ in range(_STEP_COUNT):
        likely = 1 / (1 + np.exp(-matrix @ constants))
        gradient = matrix.T @ (weights * (answerable - likely)) - penalty * constants
        curvature = (matrix * (weights * likely * (1 - likely))[:, None]).T @ matrix + np.diag(penalty)
        constants += np.linalg.solve(curvature, gradient)
    return constants


def table(title: str, rows: Sequence[Asked], constants_of: Callable[[str], NDArray[np.float64]]) -> str:
    """Return how well the values separate, and what is refused, tree by tree."""
    lines = [title, f"  {'':8}  AUC {' / '.join(KINDS)} / all   refused of answerable, of unanswerable (95 %)"]
    for tree in TREE_NAMES:
        some = [row for row in rows if row.tree == tree]
        constants = constants_of(tree)
        values = [float(1 / (1 + np.exp(-np.dot(constants, (1.0, *row.features))))) for row in some]
        scored = list(zip(some, values, strict=True))
        positives = [value for row, value in scored if row.is_answerable]
        negatives = [[value for row, value in scored if row.kind == kind] for kind in KINDS]
        auc = [roc_auc(positives, one) for one in (*negatives, [value for one in negatives for value in one])]
        shares = []
        for wanted in (True, False):
            refused = [
                row.is_missing or value < ANSWERABILITY_THRESHOLD
                for row, value in scored
                if row.is_answerable is wanted
            ]
            low, high = wilson(sum(refused), len(refused))
            shares.append(f"{sum(refused)}/{len(refused)} {sum(refused) / len(refused):.1%} ({low:.0%} – {high:.0%})")
        lines.append(f"  {tree:8}  {' / '.join(f'{one:.3f}' for one in auc)}   {', '.join(shares)}")
    return "\n".join(lines)


def report(rows: Sequence[Asked], by_words: Sequence[Asked]) -> str:
    """Return the constants, and the tables with and without each tree in the fit."""
    everything = fitted(rows)
    without = {tree: fitted([row for row in rows if row.tree != tree]) for tree in TREE_NAMES}
    lines = [
        f"{title}: {', '.join(f'{name} {value:.2f}' for name, value in zip(NAMES, constants, strict=True))}"
        for title, constants in (("constants", everything), ("without vectors", fitted(by_words)))
    ]
    lines.append(table(f"fitted on all trees, refused below {ANSWERABILITY_THRESHOLD}", rows, lambda _: everything))
    lines.append(table("the tree left out of the fit", rows, without.__getitem__))
    return "\n\n".join(lines)


def main(data_dir: Path | None) -> int:
    """Fit and print; 1 when a tree cannot be had."""
    configured = os.environ.get("GROUNDWIRE_CORPORA_DIR")
    corpora_dir = Path(configured) if configured else platformdirs.user_cache_path("groundwire") / "corpora"
    encoder = MiniLmEncoder(encoder_files(None), 1)
    encode = lru_cache(None)(encoder.encode_query)
    rows: list[Asked] = []
    by_words: list[Asked] = []
    with tempfile.TemporaryDirectory(prefix="groundwire-answerability-") as temporary:
        home = (data_dir or Path(temporary)).resolve()
        home.mkdir(parents=True, exist_ok=True)
        try:
            for name in TREE_NAMES:
                collection = opened_index(home, name, corpora_dir, encoder)
                try:
                    rows += asked(name, collection, encode)
                    by_words += asked(name, collection, None)
                finally:
                    collection.close()
        except CannotMeasureError as problem:
            sys.stderr.write(f"answerability: {problem}\n")
            return 1
        finally:
            encoder.close()
    print(report(rows, by_words))
    return 0


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(
        "python -m benchmarks.answerability", description=(__doc__ or "").splitlines()[0]
    )
    arguments.add_argument("--data-dir", type=Path, help="where indexes are kept, a folder for each tree")
    sys.exit(main(arguments.parse_args().data_dir))
