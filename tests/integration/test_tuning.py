"""client tune and client evaluate-retrieval against a real server and the real encoder."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.client import ClientRun, run_client
from tests.support.processes import PROJECT_DIR, Server

TREE = PROJECT_DIR / "tests/fixtures/two_hop"
COLLECTION = "tuned-greenhouse"


@pytest.fixture(scope="module")
def greenhouse(server: Server) -> Server:
    """tests/fixtures/two_hop, all vectors computed."""
    indexing = ("index", "tests/fixtures/two_hop", "--collection", COLLECTION, "--wait")
    run_client(server.address, *indexing, cwd=PROJECT_DIR).assert_ok()
    return server


def items(count: int) -> list[dict[str, Any]]:
    """Questions about the first lines of the fixture's files."""
    files = sorted(path for path in TREE.rglob("*") if path.suffix in {".md", ".toml", ".py"})
    made = []
    for number in range(count):
        file = files[number % len(files)]
        text = file.read_text(encoding="utf-8")
        words = " ".join(text.split()[number // len(files) : number // len(files) + 6])
        source = {"file_path": file.name, "first_character_index": 0, "last_character_index": len(text)}
        made.append({"question_id": str(number), "question": f"Where stands {words}?", "sources": [source]})
    return made


def run_on(server: Server, tmp_path: Path, command: str, questions: list[dict[str, Any]], *options: str) -> ClientRun:
    dataset = tmp_path / "dataset.json"
    dataset.write_text(json.dumps({"rag_questions": questions}), encoding="utf-8")
    return run_client(server.address, command, dataset, "--collection", COLLECTION, *options, cwd=tmp_path)


def tuned(server: Server, tmp_path: Path, questions: list[dict[str, Any]], *options: str) -> ClientRun:
    return run_on(server, tmp_path, "tune", questions, *options)


def evaluated(server: Server, tmp_path: Path, questions: list[dict[str, Any]], *options: str) -> ClientRun:
    return run_on(server, tmp_path, "evaluate-retrieval", questions, *options)


def test_a_report_names_the_gain_its_interval_and_the_verdict(greenhouse: Server, tmp_path: Path):
    report = tuned(greenhouse, tmp_path, items(24), "--profile", "precise", "--json").assert_ok().json
    assert (report["profile"], report["question_count"]) == ("precise", 24)
    assert report["gain_low"] <= report["gain"] <= report["gain_high"]
    assert report["worth_keeping"] is (report["gain_low"] > 0 and report["p_value"] <= 0.025)
    assert report["applied"] is False
    text = tuned(greenhouse, tmp_path, items(24), "--profile", "precise").assert_ok().stdout
    assert "95 % interval" in text
    assert "not kept" in text or "--apply keeps it" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found[:1], "questions: 1 question is given, at least 20 are needed"),
        (lambda found: [{**one, "sources": []} for one in found], "no question has sources"),
        (
            lambda found: [*found[:-1], {**found[-1], "sources": [{**found[-1]["sources"][0], "file_path": "no.md"}]}],
            "item 22 (question_id '21'): sources[0].path: the collection has no document 'no.md'",
        ),
    ],
)
def test_what_cannot_be_tuned_is_one_line_that_names_it(greenhouse: Server, tmp_path: Path, change, message: str):
    refused = tuned(greenhouse, tmp_path, change(items(22)))
    refused.assert_refused(message)


def test_nothing_is_shown_and_reset_before_anything_was_applied(greenhouse: Server, tmp_path: Path):
    for options in ([], ["--reset"]):
        done = run_client(greenhouse.address, "tune", *options, "--collection", COLLECTION, cwd=tmp_path).assert_ok()
        assert done.stdout == "nothing was tuned: every profile has its own weights\n"
    both = run_client(greenhouse.address, "tune", "--apply", "--collection", COLLECTION, cwd=tmp_path)
    assert both.exit_code == 2
    both.assert_refused("--apply needs a DATASET")


def test_evaluating_a_collection_gives_what_its_results_evaluate_to(greenhouse: Server, tmp_path: Path):
    """The server's recall is that of `search-dataset` and `evaluate`, and a question without sources takes no part."""
    questions = [*items(12), {"question_id": "bare", "question": "Where is nothing?"}]
    run = evaluated(greenhouse, tmp_path, questions, "-k", "3", "--json").assert_ok()
    assert "1 question without sources" in run.stderr
    found = run.json
    ranks = [one["rank"] for one in found["first_hit_ranks"]]
    assert [one["question_id"] for one in found["first_hit_ranks"]] == [str(number) for number in range(12)]
    assert found["question_count"] == 12
    assert found["mean_reciprocal_rank"] == pytest.approx(sum(1 / rank for rank in ranks if rank) / 12)

    run_on(greenhouse, tmp_path, "search-dataset", questions, "-k", "3", "--save-directory", "out").assert_ok()
    results = tmp_path / "out" / "dataset.json"
    offline = run_client(greenhouse.address, "evaluate", results, tmp_path / "dataset.json", "--json", cwd=tmp_path)
    expected = offline.assert_ok().json["recall"]
    assert list(found["recall"]) == list(expected) == ["recall@1", "recall@3"]
    for name, recall in found["recall"].items():
        assert recall["found_count"] == expected[name]["found_count"], name
        assert [recall[key] for key in ("recall", "low", "high")] == pytest.approx(
            [expected[name][key] for key in ("recall", "low", "high")]
        )

    shown = evaluated(greenhouse, tmp_path, questions, "-k", "3").assert_ok().stdout.splitlines()
    assert [line.split()[0] for line in shown[1:]] == ["recall@1", "recall@3", "MRR@3"]
    assert "found of 12" in shown[0]


def test_evaluating_takes_the_options_of_a_search(greenhouse: Server, tmp_path: Path):
    everything = evaluated(greenhouse, tmp_path, items(12), "--json").assert_ok().json
    filtered = evaluated(greenhouse, tmp_path, items(12), "--include", "no/such/**", "--json").assert_ok().json
    assert everything["mean_reciprocal_rank"] > 0 == filtered["mean_reciprocal_rank"]
    refused = evaluated(greenhouse, tmp_path, items(2), "--lexical-weight", "-1")
    refused.assert_refused("lexical_weight")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"file_path": "no.md"}, "item 2 (question_id '1'): sources[0].path: the collection has no document 'no.md'"),
        ({"first_character_index": 7, "last_character_index": 7}, "item 2 (question_id '1'): sources[0].end_char"),
    ],
)
def test_what_cannot_be_evaluated_is_one_line_that_names_the_item(
    greenhouse: Server, tmp_path: Path, source: dict[str, Any], message: str
):
    first, second = items(2)
    second["sources"] = [{**second["sources"][0], **source}]
    evaluated(greenhouse, tmp_path, [first, second]).assert_refused(message)


def test_evaluating_a_collection_that_is_not_there_is_one_line(greenhouse: Server, tmp_path: Path):
    dataset = tmp_path / "dataset.json"
    dataset.write_text(json.dumps({"rag_questions": items(1)}), encoding="utf-8")
    missing = ("evaluate-retrieval", dataset, "--collection", "not-there")
    run_client(greenhouse.address, *missing, cwd=tmp_path).assert_refused("not-there")
    run_client(greenhouse.address, "evaluate-retrieval", "no.json", cwd=tmp_path).assert_refused(
        "no.json: does not exist"
    )
