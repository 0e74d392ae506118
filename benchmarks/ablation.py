"""What each part of ranking is worth: recall and nDCG with one of them off at a time.

`python -m benchmarks.ablation [--data-dir DIR]`. DIR keeps the indexes, which then need not be made again. What was
decided when a tree was indexed (that the windows of code hold its comments, that the path counts twice, …) cannot be
switched off afterwards and is not here.
"""

import argparse
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import platformdirs

from benchmarks.ablation_sets import TREE_NAMES, LabelledQuery, labelled_queries, opened_index
from benchmarks.stage import CannotMeasureError
from client.cli.dataset_file import Source
from client.cli.recall import first_hit_rank
from groundwire.models.locate import encoder_files
from groundwire.recall import wilson_interval
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.engine import retriever
from retrieval_server.engine.encoding.encoder import MiniLmEncoder
from retrieval_server.engine.lexical import bm25
from retrieval_server.engine.ranking import candidates, profiles
from retrieval_server.engine.ranking.dense_list import Encode
from retrieval_server.engine.ranking.priors import source_priors
from retrieval_server.engine.selecting import selection
from retrieval_server.model import Passage, Prior, Profile, RetrieveQuery
from tests.quality.measures import ndcg_by_file

K = 10
SHOWN_KS = (1, 5)
RECALL_GROUPS = ("vllm docs", "vllm code", "trees docs", "trees code")
NDCG_GROUPS = ("concept", "symbol")

Switch = Callable[[], AbstractContextManager[Any]]


class Part(NamedTuple):
    """A part of ranking, and how it is switched off."""

    name: str
    off: Switch


@dataclass
class Outcome:
    """Of each group, the rank of each query's first hit (None for none) or its nDCG."""

    ranks: dict[str, list[int | None]] = field(default_factory=lambda: defaultdict(list))
    ndcg: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def found(self, group: str, k: int) -> int:
        """Return how many queries have a hit among the first k."""
        return sum(rank is not None and rank <= k for rank in self.ranks[group])


def _constants(**changes: float | None) -> Switch:
    """Every profile's constants with `changes`."""
    ranking_of = profiles.ranking_of

    def changed(*arguments: Any) -> profiles.Ranking:
        ranking = ranking_of(*arguments)
        return ranking._replace(constants=replace(ranking.constants, **changes))  # type: ignore[arg-type]

    return lambda: patch.object(retriever, "ranking_of", changed)


def _always(profile: Profile) -> Switch:
    ranking_of = profiles.ranking_of

    def changed(request: RetrieveQuery, *others: Any) -> profiles.Ranking:
        return ranking_of(replace(request, profile=profile), *others)

    return lambda: patch.object(retriever, "ranking_of", changed)


def _without_prior(name: str) -> Switch:
    def changed(path: str, query_terms: frozenset[str]) -> tuple[Prior, ...]:
        return tuple(prior for prior in source_priors(path, query_terms) if prior.name != name)

    return lambda: patch.object(candidates, "source_priors", changed)


class _EveryPassage:
    """Stands for DistinctPassages and takes copies, too."""

    def admits(self, passage: Passage) -> bool:
        """Return True."""
        return bool(passage)


PARTS = (
    Part("nothing", nullcontext),
    Part("dense list", _constants(dense_weight=0.0)),
    Part("lexical list", _constants(lexical_weight=0.0)),
    Part("margin", _constants(margin_weight=0.0)),
    Part("proximity", _constants(proximity_weight=0.0)),
    Part("path", _constants(path_weight=0.0)),
    Part("all three signals", _constants(margin_weight=0.0, proximity_weight=0.0, path_weight=0.0)),
    Part("prior on tests", _without_prior("test_source")),
    Part("prior on vendored", _without_prior("vendored")),
    Part("prior on generated", _without_prior("generated")),
    Part("prior on changelogs", _without_prior("changelog")),
    Part("prior on translations", _without_prior("translation")),
    Part("function words light", lambda: patch.object(bm25, "_STOP_TERM_WEIGHT", 1.0)),
    Part("definition list", _constants(definition_weight=0.0)),
    Part("file coherence", _constants(file_passage_count=0)),
    Part("one passage a file", _constants(max_per_file=None)),
    Part(
        "proximity by wording",
        lambda: patch.object(profiles, "_PRECISE_IN_PLAIN_WORDS", vars(profiles)["_PRECISE"]),
    ),
    Part("profiles (all PRECISE)", _always(Profile.PRECISE)),
    Part("near-duplicates go", lambda: patch.object(selection, "DistinctPassages", _EveryPassage)),
)


def measured(part: Part, trees: Sequence[tuple[Collection, Sequence[LabelledQuery]]], encode: Encode) -> Outcome:
    """Ask every query of every tree with a part off."""
    outcome = Outcome()
    with part.off():
        for collection, queries in trees:
            with collection.view() as view:
                for query in queries:
                    passages = retriever.retrieve(RetrieveQuery(query.text, k=K), view, encode).passages
                    if query.spans:
                        found = [Source(one.path, one.start_char, one.end_char) for one in passages]
                        outcome.ranks[query.group].append(first_hit_rank(found, query.spans))
                    else:
                        outcome.ndcg[query.group].append(ndcg_by_file([one.path for one in passages], query.files, K))
    return outcome


def header() -> str:
    """The names of the columns."""
    columns = [f"{group:>10}" for group in RECALL_GROUPS] + [f"{group:>8}" for group in NDCG_GROUPS]
    units = [f"{'@1 / @5 %':>10}"] * len(RECALL_GROUPS) + [f"{f'nDCG@{K}':>8}"] * len(NDCG_GROUPS)
    return "\n".join(f"{name:24}" + "  ".join(cells) for name, cells in (("without", columns), ("", units)))


def row(name: str, outcome: Outcome) -> str:
    """One line of the table."""
    cells = []
    for group in RECALL_GROUPS:
        count = len(outcome.ranks[group])
        shares = (100 * outcome.found(group, k) / count for k in SHOWN_KS)
        cells.append(f"{' / '.join(f'{share:.0f}' for share in shares):>10}")
    cells += [f"{sum(outcome.ndcg[group]) / len(outcome.ndcg[group]):8.3f}" for group in NDCG_GROUPS]
    return f"{name:24}" + "  ".join(cells)


def intervals(outcome: Outcome) -> str:
    """The 95 % intervals of a row's recall."""
    lines = []
    for group in RECALL_GROUPS:
        count = len(outcome.ranks[group])
        shown = []
        for k in SHOWN_KS:
            low, high = wilson_interval(outcome.found(group, k), count)
            shown.append(f"@{k} {outcome.found(group, k) / count:5.1%} ({low:.1%} – {high:.1%})")
        lines.append(f"  {group}, {count} questions: {', '.join(shown)}")
    lines += [f"  {group}: {len(outcome.ndcg[group])} queries" for group in NDCG_GROUPS]
    return "\n".join(lines)


def main(data_dir: Path | None) -> int:
    """Measure and print; 1 when something that is measured cannot be had."""
    configured = os.environ.get("GROUNDWIRE_CORPORA_DIR")
    corpora_dir = Path(configured) if configured else platformdirs.user_cache_path("groundwire") / "corpora"
    encoder = MiniLmEncoder(encoder_files(None), 1)
    trees: list[tuple[Collection, list[LabelledQuery]]] = []
    with tempfile.TemporaryDirectory(prefix="groundwire-ablation-") as temporary:
        home = (data_dir or Path(temporary)).resolve()
        home.mkdir(parents=True, exist_ok=True)
        try:
            for name in TREE_NAMES:
                sys.stderr.write(f"index: {name}\n")
                trees.append((opened_index(home, name, corpora_dir, encoder), labelled_queries(name)))
            encode = lru_cache(None)(encoder.encode_query)
            print(header(), flush=True)
            outcomes = []
            for part in PARTS:
                outcomes.append(measured(part, trees, encode))
                print(row(part.name, outcomes[-1]), flush=True)
            print(f"\n95 % intervals (Wilson) of the first row:\n{intervals(outcomes[0])}")
            print("Not here: comments in the windows of code; they are decided when a tree is indexed.")
        except CannotMeasureError as problem:
            sys.stderr.write(f"make ablation: {problem}\n")
            return 1
        finally:
            for collection, _ in trees:
                collection.close()
            encoder.close()
    return 0


if __name__ == "__main__":
    arguments = argparse.ArgumentParser("python -m benchmarks.ablation", description=(__doc__ or "").splitlines()[0])
    arguments.add_argument(
        "--data-dir", type=Path, help="where indexes are kept and looked for, a folder for each tree"
    )
    sys.exit(main(arguments.parse_args().data_dir))
