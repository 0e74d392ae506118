"""Docs and code in turn."""

from collections.abc import Iterator

import pytest

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.model import ContentKind, FusionOverrides, PassageFilter, RetrieveResult
from tests.retrieval_server.corpus.search_support import LEXICAL_ONLY, fill, opened_collection, paths, search


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """300 documents that match better than 7 files of code do."""
    with opened_collection(tmp_path_factory.mktemp("mixed")) as opened:
        docs = {f"docs/{i}.md": f"lease renewal lease renewal number{i}" for i in range(300)}
        code = {
            f"src/{i}.py": f"# {'many other words ' * 9}{i}\n\ndef f_{i}():\n    return 'lease'\n" for i in range(7)
        }
        fill(opened, docs | code)
        yield opened


def kinds(found: RetrieveResult) -> list[str]:
    return [path.split("/")[0] for path in paths(found)]


@pytest.mark.parametrize("fusion", [LEXICAL_ONLY, FusionOverrides()], ids=["words", "both"])
def test_each_side_comes_in_turn_however_far_below_the_other_it_is(mixed: Collection, fusion: FusionOverrides):
    assert "src" not in kinds(search(mixed, "lease renewal", k=10, fusion=LEXICAL_ONLY))
    assert kinds(search(mixed, "lease renewal", k=10, balance=True, fusion=fusion)) == ["docs", "src"] * 5


def test_when_one_side_has_no_more_the_other_fills_up(mixed: Collection):
    found = kinds(search(mixed, "lease renewal", k=20, balance=True))
    assert found == ["docs", "src"] * 7 + ["docs"] * 6
    wanted = PassageFilter(include_paths=("**/src/*",))
    assert kinds(search(mixed, "lease renewal", k=20, balance=True, filter=wanted)) == ["src"] * 7


def test_each_side_keeps_its_own_order(mixed: Collection):
    balanced = search(mixed, "lease renewal", k=14, balance=True, fusion=LEXICAL_ONLY)
    for kind in (ContentKind.CODE, ContentKind.DOCS):
        alone = search(mixed, "lease renewal", k=7, filter=PassageFilter(kinds=frozenset({kind})), fusion=LEXICAL_ONLY)
        assert [p.passage_id for p in balanced.passages if p.kind is kind] == [p.passage_id for p in alone.passages]


def test_the_side_of_the_best_passage_comes_first(mixed: Collection):
    assert kinds(search(mixed, "f_3 return", k=2, balance=True, fusion=LEXICAL_ONLY))[0] == "src"
