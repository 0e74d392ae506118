"""client search and client synonyms against a real server and the real encoder."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.client import ClientRun, run_client
from tests.support.processes import PROJECT_DIR, Server

PORT = "On which port does the irrigation dashboard listen?"


@pytest.fixture(scope="module")
def greenhouse(server: Server) -> str:
    """tests/fixtures/two_hop, all vectors computed; tests only read it."""
    name = "greenhouse"
    run_client(
        server.address, "index", "tests/fixtures/two_hop", "--collection", name, "--wait", cwd=PROJECT_DIR
    ).assert_ok()
    return name


def searched(server: Server, collection: str, *arguments: object) -> ClientRun:
    return run_client(server.address, "search", *map(str, arguments), "--collection", collection, cwd=PROJECT_DIR)


def found(server: Server, collection: str, *arguments: object) -> Any:
    return searched(server, collection, *arguments, "--json").assert_ok().json


def names(result: Any) -> list[str]:
    return [Path(passage["path"]).name for passage in result["passages"]]


@pytest.mark.parametrize(
    ("query", "second_fact"),
    [
        (PORT, "sprout-view.toml"),
        ("How much memory does the climate dashboard get?", "mist-panel.toml"),
        ("How much memory is the irrigation dashboard given?", "sprout-view.toml"),
    ],
)
def test_one_passage_misses_the_second_fact_and_two_hops_find_both(
    server: Server, greenhouse: str, query: str, second_fact: str
):
    assert second_fact not in names(found(server, greenhouse, query, "-k", 1))
    twice = found(server, greenhouse, query, "-k", 4, "--hops", 2)
    assert {"dashboards.md", second_fact} <= set(names(twice))
    assert second_fact.removesuffix(".toml") in twice["second_hop"]["introduced_terms"]


def test_filters_restrict_and_still_fill_k(server: Server, greenhouse: str):
    only_notes = found(server, greenhouse, PORT, "-k", 2, "--include", "**/notes/*")
    assert sorted(names(only_notes)) == ["april.md", "march.md"]
    code = found(server, greenhouse, PORT, "-k", 5, "--kind", "code", "--exclude", "**/pump.py")
    assert set(names(code)) == {"alarm.py"}
    assert names(found(server, greenhouse, PORT, "--contains", "8533")) == ["mist-panel.toml"]
    assert names(found(server, greenhouse, PORT, "--include", "*.md")) == []


def test_docs_and_code_come_in_turn(server: Server, greenhouse: str):
    balanced = found(server, greenhouse, "when is the pump room called", "-k", 4, "--balance")
    kinds = [passage["kind"] == "code" for passage in balanced["passages"]]
    assert kinds in ([True, False, True, False], [False, True, False, True])


def test_an_explained_search_is_a_table_and_its_json_says_the_same(server: Server, greenhouse: str):
    shown = searched(server, greenhouse, PORT, "-k", 1, "--explain").assert_ok().stdout
    header = next(line for line in shown.splitlines() if "raw score" in line)
    assert header.split() == ["list", "rank", "raw", "score", "contribution", "matched", "terms"]
    best = found(server, greenhouse, PORT, "-k", 1, "--explain")["passages"][0]
    for one in best["list_scores"]:
        row = next(line for line in shown.splitlines() if line.split()[:1] == [one["list"]])
        assert row.split()[1:4] == [str(one["rank"]), f"{one['raw_score']:.4f}", f"{one['contribution']:.4f}"]
        assert row.split()[4:] == one["matched_terms"]


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (("--include", "a["), "filter.include_paths"),
        (("--language", "pyhton"), "is 'python' meant?"),
        (("--balance", "--kind", "code"), "balance"),
        (("--lexical-weight", "0", "--dense-weight", "0"), "fusion.lexical_weight"),
    ],
)
def test_bad_input_names_its_field(server: Server, greenhouse: str, arguments: tuple[str, ...], fragment: str):
    searched(server, greenhouse, PORT, *arguments).assert_refused(fragment)


def test_a_synonym_table_is_put_shown_and_used(server: Server, collection: str, tmp_path: Path):
    (tmp_path / "a.md").write_text("Tensor parallelism splits a layer over devices.")
    (tmp_path / "b.md").write_text("Nothing else is said here about anything.")
    (tmp_path / "table.toml").write_text('[two_way]\nTP = "tensor parallelism"\n[one_way]\nGPU = ["device"]\n')
    (tmp_path / "circle.toml").write_text('[one_way]\na = "b"\nb = "a"\n')

    def client(*arguments: str) -> ClientRun:
        return run_client(server.address, *arguments, "--collection", collection, cwd=tmp_path)

    client("index", "a.md").assert_ok()
    client("index", "b.md").assert_ok()
    lexical = ("search", "TP", "--dense-weight", "0", "--json")
    assert names(client(*lexical).assert_ok().json) == []
    assert client("synonyms", "table.toml").assert_ok().stdout.splitlines() == [
        "TP = tensor parallelism",
        "GPU → device",
        "2 groups",
    ]
    assert names(client(*lexical).assert_ok().json) == ["a.md"]
    client("synonyms", "circle.toml").assert_refused("one_way.b", "leads back")
    assert client("synonyms", "--json").assert_ok().json["groups"][0] == {
        "terms": ["TP", "tensor parallelism"],
        "expansions": [],
    }
