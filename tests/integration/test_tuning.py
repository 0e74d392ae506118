"""client tune against a real server and the real encoder."""

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


def tuned(server: Server, tmp_path: Path, questions: list[dict[str, Any]], *options: str) -> ClientRun:
    dataset = tmp_path / "dataset.json"
    dataset.write_text(json.dumps({"rag_questions": questions}), encoding="utf-8")
    return run_client(server.address, "tune", dataset, "--collection", COLLECTION, *options, cwd=tmp_path)


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
