"""A run over a question set: what failed for good stays known, and good results are never replaced by nothing."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

import client
from client.cli import dataset_run
from client.cli.dataset_file import read_dataset
from client.cli.dataset_run import DatasetRun


@dataclass
class Outcome:
    item_index: int
    result: str | None = None
    error: client.ClientError | None = None


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    path = tmp_path / "set.json"
    questions = [{"question_id": f"q{i}", "question": f"what is {i}?"} for i in range(2)]
    path.write_text(json.dumps({"rag_questions": questions}))
    return path


def run(dataset: Path, result_path: Path, answers: dict[str, list[str | client.ClientError]]) -> dict[str, str]:
    def ask(texts: Sequence[str]) -> Iterator[Outcome]:
        for index, text in enumerate(texts):
            answer = answers[text].pop(0)
            is_error = isinstance(answer, client.ClientError)
            yield Outcome(index, None if is_error else answer, answer if is_error else None)

    return DatasetRun(
        questions=read_dataset(str(dataset)),
        result_path=result_path,
        conditions={"k": 1},
        k=1,
        ask=ask,
        entry_of=lambda question, result: {"question_id": question.question_id, "found": result},
        failed_entry=lambda question: {"question_id": question.question_id, "found": None},
    ).run()


def test_an_error_of_the_first_pass_survives_the_second(dataset: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(dataset_run, "_PAUSE_S", 0)
    answers = {"what is 0?": [client.InvalidRequest("never")], "what is 1?": [client.Overloaded("later"), "one"]}
    problems = run(dataset, tmp_path / "out" / "set.json", answers)
    assert list(problems.values()) == ["never"]
    written = json.loads((tmp_path / "out" / "set.json").read_text())
    assert [entry["found"] for entry in written["search_results"]] == [None, "one"]


def test_results_are_not_replaced_when_nothing_was_found(dataset: Path, tmp_path: Path):
    result_path = tmp_path / "out" / "set.json"
    run(dataset, result_path, {"what is 0?": ["zero"], "what is 1?": ["one"]})
    before = result_path.read_bytes()
    failing = {f"what is {i}?": [client.InvalidRequest("retrieve.k: too large")] for i in range(2)}
    with pytest.raises(click.ClickException, match="too large"):
        run(dataset, result_path, failing)
    assert result_path.read_bytes() == before


def test_a_busy_server_is_asked_again_as_long_as_each_pass_brings_something(dataset: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(dataset_run, "_PAUSE_S", 0)
    busy = [client.Overloaded("later")] * 2
    answers = {"what is 0?": [*busy, "zero"], "what is 1?": [*busy, *busy, "one"]}
    assert run(dataset, tmp_path / "out" / "set.json", answers) == {}


def test_a_server_that_stays_busy_is_given_up_after_some_passes(dataset: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(dataset_run, "_PAUSE_S", 0)
    answers = {"what is 0?": ["zero"], "what is 1?": [client.Overloaded("later")] * 9}
    problems = run(dataset, tmp_path / "out" / "set.json", answers)
    assert list(problems.values()) == ["later"]
    assert len(answers["what is 1?"]) == 5
