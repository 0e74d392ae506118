"""Every part of ranking can be switched off, and is on again afterwards."""

from collections.abc import Iterator

import pytest

from benchmarks.ablation import PARTS, Outcome, Part, header, intervals, measured, row
from benchmarks.ablation_sets import LabelledQuery
from client.cli.dataset_file import Source
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.engine import retriever
from retrieval_server.model import RetrieveQuery
from tests.retrieval_server.corpus.search_support import ENCODER, fill, opened_collection

COPY = "the lock gate opens when both water levels are equal and the keeper has given the signal to go on\n"
FILES = {
    "docs/gate.md": f"# Gates\n\n{COPY}\n# Storm\n\nThe storm gate is shut at high water.\n",
    "docs/other.md": f"# Elsewhere\n\n{COPY}",
    "lock/gate.py": "def open_gate(level):\n    return level.is_equal()\n\ndef shut_gate():\n    return open_gate(0)\n",
    "tests/test_gate.py": "def test_open_gate():\n    assert open_gate(level)\n",
    "vendor/gate.py": "gate = open_gate(level)\n",
    "lock/gate_pb2.py": "GATE = open_gate(level)\n",
    "CHANGES.md": "# Changes\n\nopen_gate takes a level.\n",
    "locales/de.py": "open_gate = 'Tor auf, level {}'\n",
}
QUERIES = [
    *(
        LabelledQuery("When is the storm gate shut?", f"{tree} {kind}", (Source("project/docs/gate.md", 100, 200),))
        for tree in ("vllm", "trees")
        for kind in ("docs", "code")
    ),
    LabelledQuery("gates and water levels", "concept", files=frozenset({"project/docs/gate.md"})),
    LabelledQuery("open_gate", "symbol", files=frozenset({"project/lock/gate.py"})),
]


@pytest.fixture(scope="module")
def gates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with opened_collection(tmp_path_factory.mktemp("gates")) as collection:
        fill(collection, FILES, max_chunk_chars=200)
        yield collection


def outcome(collection: Collection, part: Part) -> Outcome:
    return measured(part, [(collection, QUERIES)], ENCODER.encode_query)


@pytest.mark.parametrize("part", PARTS, ids=[part.name for part in PARTS])
def test_a_part_is_off_only_while_it_is_measured(gates: Collection, part: Part) -> None:
    before = outcome(gates, PARTS[0])
    without = outcome(gates, part)
    assert {group: len(ranks) for group, ranks in without.ranks.items()} == dict.fromkeys(without.ranks, 1)
    assert outcome(gates, PARTS[0]) == before
    assert len(row(part.name, without)) == len(header().splitlines()[1])
    assert intervals(before).count("1 questions") == 4


def told(collection: Collection, query: str) -> set[str]:
    """The names of all lists and factors that a part of the score came from."""
    with collection.view() as view:
        found = retriever.retrieve(RetrieveQuery(query, k=20, explain=True), view, ENCODER.encode_query).passages
    lists = {part.list_name for one in found for part in one.list_scores if part.rank}
    return lists | {prior.name for one in found for prior in one.priors}


@pytest.mark.parametrize(
    ("part_name", "query", "name"),
    [
        ("dense list", "When is the storm gate shut?", "dense"),
        ("lexical list", "When is the storm gate shut?", "bm25"),
        ("margin", "When is the storm gate shut?", "margin"),
        ("proximity", "When is the storm gate shut?", "proximity"),
        ("path", "When is the storm gate shut?", "path"),
        ("prior on tests", "open_gate level", "test_source"),
        ("prior on vendored", "open_gate level", "vendored"),
        ("prior on generated", "open_gate level", "generated"),
        ("prior on changelogs", "open_gate level", "changelog"),
        ("prior on translations", "open_gate level", "translation"),
        ("definition list", "open_gate", "definition"),
        ("file coherence", "gates and water levels", "file"),
    ],
)
def test_a_part_that_is_off_has_no_part_in_any_score(gates: Collection, part_name: str, query: str, name: str) -> None:
    (part,) = (one for one in PARTS if one.name == part_name)
    assert name in told(gates, query)
    with part.off():
        assert name not in told(gates, query)
