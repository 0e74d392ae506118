"""Questions that take two facts in two files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.engine import hops
from retrieval_server.model import ContentKind, Passage, PassageFilter
from tests.retrieval_server.corpus.search_support import LEXICAL_ONLY, fill, opened_collection, paths, search

PORT = "On which port does the irrigation dashboard listen?"
QUESTIONS = {
    PORT: "config/programs/sprout-view.toml",
    "How much memory does the climate dashboard get?": "config/programs/mist-panel.toml",
    "How much memory is the irrigation dashboard given?": "config/programs/sprout-view.toml",
}


@pytest.fixture(scope="module")
def greenhouse(tmp_path_factory: pytest.TempPathFactory, project_dir: Path) -> Iterator[Collection]:
    root = project_dir / "tests" / "fixtures" / "two_hop"
    with opened_collection(tmp_path_factory.mktemp("greenhouse")) as opened:
        fill(opened, {p.relative_to(root).as_posix(): p.read_text() for p in sorted(root.rglob("*.*"))})
        yield opened


@pytest.mark.parametrize(("query", "second_fact"), QUESTIONS.items())
@pytest.mark.parametrize("fusion", [LEXICAL_ONLY, LEXICAL_ONLY.__class__()], ids=["words", "words and vectors"])
def test_one_hop_misses_the_second_fact_and_two_find_both(
    greenhouse: Collection, query: str, second_fact: str, fusion: object
):
    assert second_fact not in paths(search(greenhouse, query, k=1, fusion=fusion))
    assert second_fact not in paths(search(greenhouse, query, k=3, fusion=fusion))
    found = search(greenhouse, query, k=4, hops=2, fusion=fusion)
    assert {"handbook/dashboards.md", second_fact} <= set(paths(found))


def test_the_response_says_what_the_second_hop_asked(greenhouse: Collection):
    found = search(greenhouse, PORT, k=3, hops=2, fusion=LEXICAL_ONLY)
    assert found.second_hop is not None
    assert found.second_hop.introduced_terms[0] == "sprout-view"
    assert found.second_hop.query == " ".join((*found.second_hop.introduced_terms, "port", "listen"))
    assert [p.hop for p in found.passages] == [1, 2, 1]
    assert search(greenhouse, PORT, k=3).second_hop is None


def test_where_nothing_new_is_introduced_two_hops_are_one(tmp_path: Path):
    with opened_collection(tmp_path) as plain:
        fill(
            plain,
            {"a.md": "The tank is full at 40 litres.", "b.md": "The tank is empty.", "c.md": "Only `here` is it."},
        )
        for query in ("full tank", "only", "zzzz"):
            once = search(plain, query, k=5, fusion=LEXICAL_ONLY)
            twice = search(plain, query, k=5, hops=2, fusion=LEXICAL_ONLY)
            assert twice.second_hop is None
            assert [p.passage_id for p in twice.passages] == [p.passage_id for p in once.passages]


def test_both_hops_stay_within_the_filter(greenhouse: Collection):
    wanted = PassageFilter(include_paths=("project/handbook/**",))
    found = search(greenhouse, PORT, k=10, hops=2, filter=wanted)
    assert found.second_hop is not None
    assert {path.split("/")[0] for path in paths(found)} == {"handbook"}


def test_hops_and_balance_go_together(greenhouse: Collection):
    found = search(greenhouse, PORT, k=4, hops=2, balance=True)
    assert "config/programs/sprout-view.toml" in paths(found)
    assert [path.endswith(".py") for path in paths(found)] in ([False, True, False, True], [False, True, False, False])


def test_no_passage_comes_twice(greenhouse: Collection):
    found = search(greenhouse, PORT, k=50, hops=2)
    assert len({p.passage_id for p in found.passages}) == len(found.passages)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_the_one_value_of_a_line_is_a_name_whatever_ends_the_line(line_end: str):
    text = "host = gull\nport: heron  # by the quay\nother words\n".replace("\n", line_end)
    passage = Passage("p", "d", "a.conf", 0, len(text), 1, 3, text, (), "ini", ContentKind.DATA)
    assert [word.surface for word, _ in hops._names_near(passage, {})] == ["gull", "heron"]
