"""Filters inside both searches: k results come back whenever k exist, scored as in the whole collection."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.errors import InvalidRequest
from retrieval_server.model import ContentKind, FusionOverrides, MetadataCondition, PassageFilter
from tests.retrieval_server.corpus.search_support import LEXICAL_ONLY, fill, opened_collection, paths, search

DENSE_ONLY = FusionOverrides(lexical_weight=0)
NEAR, FAR = 400, 12


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """400 documents that match better than the 12 that a filter leaves."""
    with opened_collection(tmp_path_factory.mktemp("library")) as opened:
        near = {f"near/{i}.md": f"lease renewal lease renewal lease number{i}" for i in range(NEAR)}
        far = {
            f"far/{i}.py": f"# {'many other words stand here ' * 6}{i}\n\ndef far_{i}():\n    return 'lease'\n"
            for i in range(FAR)
        }
        fill(opened, near | far)
        yield opened


@pytest.mark.parametrize("fusion", [LEXICAL_ONLY, DENSE_ONLY, FusionOverrides()], ids=["words", "vectors", "both"])
@pytest.mark.parametrize(
    "wanted",
    [
        PassageFilter(include_paths=("project/far/**",)),
        PassageFilter(exclude_paths=("**/near/*",)),
        PassageFilter(languages=frozenset({"python"})),
        PassageFilter(kinds=frozenset({ContentKind.CODE, ContentKind.DATA})),
        PassageFilter(contains=("def far_",)),
        PassageFilter(contains=("lease", "stand here"), kinds=frozenset({ContentKind.CODE})),
    ],
    ids=["include", "exclude", "language", "kind", "contains", "both conditions"],
)
def test_a_filter_that_leaves_only_what_is_far_below_the_top_still_returns_k(
    library: Collection, wanted: PassageFilter, fusion: FusionOverrides
):
    found = search(library, "lease renewal", k=FAR, filter=wanted, fusion=fusion)
    assert sorted(paths(found)) == sorted(f"far/{i}.py" for i in range(FAR))
    assert len(search(library, "lease renewal", k=5, filter=wanted, fusion=fusion).passages) == 5


def test_scores_stay_those_of_the_whole_collection(library: Collection):
    """A filter must not change idf: the words that are rare in the collection stay the telling ones."""
    everything = search(library, "lease renewal", k=NEAR + FAR, fusion=LEXICAL_ONLY)
    raw_scores = {p.passage_id: p.list_scores[0].raw_score for p in everything.passages}
    filtered = search(library, "lease", k=FAR, filter=PassageFilter(include_paths=("**/far/*",)), fusion=LEXICAL_ONLY)
    everything_of_one_word = search(library, "lease", k=NEAR + FAR, fusion=LEXICAL_ONLY)
    of_one_word = {p.passage_id: p.list_scores[0].raw_score for p in everything_of_one_word.passages}
    assert len(raw_scores) == NEAR + FAR
    assert [p.list_scores[0].raw_score for p in filtered.passages] == [
        of_one_word[p.passage_id] for p in filtered.passages
    ]
    assert [p.list_scores[0].rank for p in filtered.passages] == list(range(1, FAR + 1))


def test_a_filter_that_leaves_nothing_finds_nothing(library: Collection):
    for wanted in (PassageFilter(include_paths=("nowhere/**",)), PassageFilter(contains=("no such text",))):
        found = search(library, "lease", filter=wanted)
        assert (found.passages, found.answerability) == ((), 0)


def test_a_cap_per_file_and_a_filter_still_return_k_when_a_few_files_fill_the_pool(tmp_path: Path):
    with opened_collection(tmp_path) as opened:
        many = "\n\n".join(f"alpha alpha alpha {'filler ' * 12}{i}" for i in range(100))
        fill(opened, {"a.md": many} | {f"b{i}.md": f"alpha and {i} other words of its own" for i in range(9)}, 120)
        found = search(opened, "alpha", k=10, max_per_file=1, fusion=FusionOverrides(dense_weight=0, pool_count=10))
        assert len(set(paths(found))) == 10


def test_substrings_are_found_as_they_are_written(tmp_path: Path):
    with opened_collection(tmp_path) as opened:
        fill(
            opened,
            {"a.md": "lease 100% of it_all", "b.md": "lease 1000 of it all", "c.md": "Lease cafe\u0301", "d.md": "x"},
        )

        def found(*texts: str) -> list[str]:
            return sorted(paths(search(opened, "lease", filter=PassageFilter(contains=texts))))

        assert found("100%") == ["a.md"]
        assert found("it_all") == ["a.md"]
        assert found("lease", "1000") == ["b.md"]
        assert found("Lease") == ["c.md"]
        assert found("caf\u00e9") == ["c.md"]
        assert found("'; DROP TABLE chunks; --") == []


def test_a_new_document_is_seen_by_a_filter_that_was_asked_before(tmp_path: Path):
    wanted = PassageFilter(include_paths=("**/*.md",))
    with opened_collection(tmp_path) as opened:
        fill(opened, {"a.md": "alpha", "b.txt": "alpha"})
        assert paths(search(opened, "alpha", filter=wanted)) == ["a.md"]
        fill(opened, {"c.md": "alpha"})
        assert sorted(paths(search(opened, "alpha", filter=wanted))) == ["a.md", "c.md"]


def test_slips_in_names_are_told_with_what_may_be_meant(tmp_path: Path):
    with opened_collection(tmp_path) as opened:
        fill(opened, {"a.md": "---\nauthor: Ada\n---\nalpha"})
        cases = {
            PassageFilter(languages=frozenset({"pyhton"})): ("filter.languages", "python"),
            PassageFilter(metadata=(MetadataCondition("autor", equals="Ada"),)): ("filter.metadata[0].key", "author"),
        }
        for wanted, (field, meant) in cases.items():
            with pytest.raises(InvalidRequest) as caught:
                search(opened, "alpha", filter=wanted)
            assert [one.field for one in caught.value.field_errors] == [field]
            assert meant in caught.value.message
        assert search(opened, "alpha", filter=PassageFilter(languages=frozenset({"rust"}))).passages == ()


def test_an_empty_collection_knows_no_slips(tmp_path: Path):
    with opened_collection(tmp_path) as opened:
        wanted = PassageFilter(metadata=(MetadataCondition("any", equals="x"),), include_paths=("**",))
        assert search(opened, "alpha", filter=wanted).passages == ()
