"""One query against one view: order, caps, priors, explanation, and when to say that nothing is known."""

import math
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.documents.changes import SourceChange
from retrieval_server.corpus.lexical.guarded_view import UnreadableIndex
from retrieval_server.engine.lexical.bm25 import LexicalView
from retrieval_server.engine.retriever import retrieve
from retrieval_server.model import FusionOverrides, Profile, RetrieveQuery, SkippedReason
from tests.retrieval_server.corpus.search_support import ENCODER, LEXICAL_ONLY, fill, opened_collection, search
from tests.retrieval_server.corpus.support import parsed


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    with opened_collection(tmp_path) as opened:
        yield opened


def test_equal_scores_are_ordered_by_path_whatever_the_order_of_arrival(collection: Collection):
    fill(collection, {f"{name}.md": "alpha" for name in "dbac"})
    found = search(collection, "alpha", fusion=LEXICAL_ONLY)
    assert [p.path for p in found.passages] == [f"project/{name}.md" for name in "abcd"]


def test_of_many_equal_chunks_the_first_by_path_are_found_whatever_the_order_of_arrival(tmp_path: Path):
    names = [f"{number:03}.md" for number in range(120)]
    for directory, arriving in (("rising", names), ("falling", names[::-1])):
        with opened_collection(tmp_path / directory) as collection:
            fill(collection, dict.fromkeys(arriving, "alpha"))
            found = search(collection, "alpha", fusion=LEXICAL_ONLY, k=3)
            assert [p.path for p in found.passages] == [f"project/{name}" for name in names[:3]]


def test_of_equal_chunks_at_one_path_each_source_has_its_place_whatever_the_order_of_arrival(tmp_path: Path):
    orders = []
    for arriving in (("/srv/one", "/srv/two"), ("/srv/two", "/srv/one")):
        with opened_collection(tmp_path / Path(arriving[0]).name) as collection:
            for source in arriving:
                collection.apply(SourceChange(source, "project", 2000, (parsed("a.md", "alpha"),), ()))
            orders.append([p.document_id for p in search(collection, "alpha", fusion=LEXICAL_ONLY).passages])
    assert len(orders[0]) == 2
    assert orders[0] == orders[1]


def test_a_test_stands_behind_its_subject_unless_asked_for(collection: Collection):
    fill(collection, {"tests/a.py": "lease renewal", "zsrc/a.py": "lease renewal"})
    assert search(collection, "lease renewal").passages[0].path == "project/zsrc/a.py"
    found = search(collection, "lease renewal", explain=True)
    tested = {p.path: [(q.name, q.factor) for q in p.priors if q.name == "test_source"] for p in found.passages}
    assert tested == {"project/tests/a.py": [("test_source", 0.6)], "project/zsrc/a.py": []}
    assert search(collection, "test of lease renewal").passages[0].path == "project/tests/a.py"


def test_a_cap_per_file_leaves_room_for_other_files(collection: Collection):
    paragraphs = "\n\n".join(f"alpha {'word ' * 15}{i}" for i in range(6))
    fill(collection, {"a.md": paragraphs, "b.md": "alpha beta gamma delta"}, max_chunk_chars=100)
    capped = search(collection, "alpha", max_per_file=1, k=5)
    assert sorted(p.path for p in capped.passages) == ["project/a.md", "project/b.md"]
    # A profile that shows one passage a file fills up with more of them when there are not enough files.
    for profile in Profile:
        found = [p.path for p in search(collection, "alpha", k=5, profile=profile).passages]
        assert len(found) == 5
        assert profile is not Profile.EXPLORE or set(found[:2]) == {"project/a.md", "project/b.md"}


def test_k_above_the_corpus_returns_all(collection: Collection):
    fill(collection, {"a.md": "alpha", "b.md": "beta"})
    assert len(search(collection, "alpha", k=1000).passages) == 2


def test_explanation_names_rank_score_and_terms_of_each_list(collection: Collection):
    fill(collection, {"a.md": "alpha lease", "b.md": "alpha"})
    fusion = FusionOverrides(lexical_weight=3, dense_weight=1, rank_constant=5)
    best = search(collection, "alpha leases", explain=True, fusion=fusion).passages[0]
    assert best.path == "project/a.md"
    lexical, dense = best.list_scores
    assert (lexical.list_name, lexical.rank, lexical.matched_terms) == ("bm25", 1, ("alpha", "leas"))
    assert lexical.contribution == pytest.approx(3 / 6)
    assert (dense.list_name, dense.contribution) == ("dense", pytest.approx(1 / (5 + dense.rank)))
    factor = math.prod(prior.factor for prior in best.priors)
    assert best.score == pytest.approx((lexical.contribution + dense.contribution) * factor)


def test_a_question_about_something_else_is_not_answerable(collection: Collection):
    fill(collection, {f"f{i}.md": f"lease worker queue number{i}" for i in range(9)})
    found = search(collection, "boiling point of tungsten", fusion=LEXICAL_ONLY)
    assert found.skipped_reason is SkippedReason.NO_PASSAGES
    assert found.answerability < 0.001
    assert search(collection, "lease of a worker", fusion=LEXICAL_ONLY).skipped_reason is None


@pytest.mark.parametrize(
    "question",
    ["Was ist die lease von einem worker?", "Quelle est la lease du worker ?", "Jaka jest lease worker?"],
)
def test_a_question_in_another_language_is_judged_by_what_it_is_about(collection: Collection, question: str):
    fill(collection, {f"f{i}.md": f"lease worker queue number{i}" for i in range(9)})
    assert search(collection, question, fusion=LEXICAL_ONLY).skipped_reason is None


def test_a_query_of_function_words_searches_like_any_other(collection: Collection):
    fill(collection, {"a.md": "what is this", "b.md": "lease"})
    assert search(collection, "what is this", fusion=LEXICAL_ONLY).passages[0].path == "project/a.md"


def test_words_are_looked_up_while_the_query_is_encoded_for_the_same_result(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
):
    fill(collection, {f"{name}.md": f"alpha lease {name}" for name in ("beta", "gamma", "delta")})
    looked_up_on: list[threading.Thread] = []
    is_looking_up, search_words = threading.Event(), LexicalView.search

    def look_up(*arguments: Any) -> list[tuple[int, float]]:
        looked_up_on.append(threading.current_thread())
        is_looking_up.set()
        return search_words(*arguments)

    def encode(text: str) -> NDArray[np.float32]:
        assert is_looking_up.wait(60)
        return ENCODER.encode_query(text)

    monkeypatch.setattr(LexicalView, "search", look_up)
    query = RetrieveQuery("alpha lease gamma", explain=True)
    with collection.view() as view, ThreadPoolExecutor(1) as threads:
        one_by_one = retrieve(query, view, ENCODER.encode_query)
        assert set(looked_up_on) == {threading.current_thread()}
        is_looking_up.clear()
        looked_up_on.clear()
        at_once = retrieve(query, view, encode, aside=threads)
    assert threading.current_thread() not in looked_up_on
    assert replace(at_once, elapsed_s=0.0) == replace(one_by_one, elapsed_s=0.0)


def test_no_list_is_being_asked_any_more_when_another_has_failed(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
):
    """Whoever holds the view lets go of it then."""
    fill(collection, {"beta.md": "alpha lease beta"})
    is_asked, has_failed, has_ended = threading.Event(), threading.Event(), threading.Event()

    def look_up(*_: object) -> list[tuple[int, float]]:
        is_asked.set()
        assert has_failed.wait(60)
        threading.Event().wait(0.1)  # long enough for the error to get ahead if it can
        has_ended.set()
        return []

    def fail(_: str) -> NDArray[np.float32]:
        assert is_asked.wait(60)
        has_failed.set()
        raise ValueError("no vector")

    monkeypatch.setattr(LexicalView, "search", look_up)
    with collection.view() as view, ThreadPoolExecutor(1) as threads:
        with pytest.raises(ValueError, match="no vector"):
            retrieve(RetrieveQuery("alpha lease"), view, fail, aside=threads)
        assert has_ended.is_set()


def test_damage_of_words_that_are_looked_up_beside_reaches_the_caller(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
):
    fill(collection, {"beta.md": "alpha lease beta"})

    def fail(*_: object) -> None:
        raise ValueError("the index is damaged")

    monkeypatch.setattr(LexicalView, "search", fail)
    with (
        collection.view() as view,
        ThreadPoolExecutor(1) as threads,
        pytest.raises(UnreadableIndex, match="damaged"),
    ):
        retrieve(RetrieveQuery("alpha lease"), view, ENCODER.encode_query, aside=threads)
