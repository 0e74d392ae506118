"""What is kept of a question's candidates gives the same order for any constants as searching again would."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.engine.ranking.candidates import CandidateSearch
from retrieval_server.engine.ranking.profiles import NOT_TUNED, ranking_of
from retrieval_server.engine.tuning.labels import GoldSpan, LabelledQuestion, first_hit_rank
from retrieval_server.engine.tuning.refusing import JUDGED_DEPTH, judged
from retrieval_server.model import FusionOverrides, Profile, RetrieveQuery
from tests.retrieval_server.corpus.search_support import ENCODER, fill, opened_collection, search

WORDS = ["lease", "worker", "queue", "drain", "prune", "index", "vector", "token", "merge", "shard", "commit", "offset"]
COPY = "every lease of a worker ends with the drain of its queue and the commit of the last offset that it wrote"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    generator = np.random.default_rng(5)
    files = {
        f"{'tests/test_' if n % 7 == 0 else 'src/'}{WORDS[n % 12]}_{n}.md": "\n\n".join(
            f"# {WORDS[int(generator.integers(12))]}\n\n{' '.join(generator.choice(WORDS, 14))}" for _ in range(4)
        )
        for n in range(40)
    }
    files |= {f"copies/{n}.md": COPY for n in range(4)}
    with opened_collection(tmp_path_factory.mktemp("refusing")) as made:
        fill(made, files, max_chunk_chars=120)
        yield made


def settings() -> Iterator[FusionOverrides]:
    yield NOT_TUNED
    generator = np.random.default_rng(6)
    for _ in range(3):
        yield FusionOverrides(
            lexical_weight=float(generator.choice([0.5, 1, 3])),
            rank_constant=int(generator.choice([2, 10, 60])),
            margin_weight=float(generator.choice([0, 0.5, 2])),
            proximity_weight=float(generator.choice([0, 0.5, 2])),
            path_weight=float(generator.choice([0, 0.3, 1])),
        )


@pytest.mark.parametrize("max_per_file", [None, 1])
@pytest.mark.parametrize("profile", [Profile.PRECISE, Profile.EXPLORE, Profile.SYMBOL])
@pytest.mark.parametrize("text", ["lease of a worker", "merge the `commit_offset`", "drain queue prune", COPY])
def test_the_rank_is_that_of_a_search(collection: Collection, text: str, profile: Profile, max_per_file: int | None):
    query = RetrieveQuery(text, profile=profile, k=JUDGED_DEPTH, max_per_file=max_per_file)
    with collection.view() as view:
        constants = ranking_of(query, view.lexical.is_defined, {}).constants
        everything = [view.passages([i])[i] for i in view.table]
        for gold_passage in everything[:: len(everything) // 8]:
            gold = (GoldSpan(gold_passage.path, gold_passage.start_char, gold_passage.end_char),)
            question = judged(LabelledQuestion(text, gold), CandidateSearch(view, ENCODER.encode_query, constants))
            for setting in settings():
                again = search(
                    collection, text, profile=profile, k=JUDGED_DEPTH, max_per_file=max_per_file, fusion=setting
                )
                expected = first_hit_rank(again.passages, gold)
                assert question.first_hit_rank(setting.over(constants), max_per_file) == expected, setting


def test_what_was_tuned_lies_between_the_profile_and_the_request(collection: Collection):
    tuned = {Profile.PRECISE: FusionOverrides(lexical_weight=7.0, rank_constant=33)}
    query = RetrieveQuery("q", profile=Profile.PRECISE, fusion=FusionOverrides(rank_constant=4))
    constants = ranking_of(query, lambda _: False, tuned).constants
    assert (constants.lexical_weight, constants.rank_constant, constants.margin_weight) == (7.0, 4, 1.0)
    other = ranking_of(RetrieveQuery("q", profile=Profile.EXPLORE), lambda _: False, tuned).constants
    assert other.lexical_weight == 1.0


def test_what_was_tuned_is_kept_by_profile_and_outlives_the_process(tmp_path: Path):
    precise, explore = FusionOverrides(lexical_weight=3.0), FusionOverrides(rank_constant=20, path_weight=0.0)
    with opened_collection(tmp_path) as collection:
        fill(collection, {"a.md": "one two"})
        collection.put_tuned_fusion({Profile.PRECISE: precise})
        collection.put_tuned_fusion({Profile.EXPLORE: explore})
        assert collection.current_view.tuned_fusion == {Profile.PRECISE: precise, Profile.EXPLORE: explore}
    with opened_collection(tmp_path) as collection:
        assert collection.current_view.tuned_fusion == {Profile.PRECISE: precise, Profile.EXPLORE: explore}
        fill(collection, {"b.md": "three"})
        collection.put_tuned_fusion({Profile.PRECISE: NOT_TUNED})
        assert collection.current_view.tuned_fusion == {Profile.EXPLORE: explore}
