"""answer-dataset --details adds what evaluate-answers counts, and nothing without it."""

import json

import pytest


@pytest.mark.parametrize("with_details", [True, False])
def test_details_are_there_when_asked_for_and_can_be_evaluated(command_line, tmp_path, with_details):
    questions = [{"question_id": "a", "question": "alpha?", "answer": "It is alpha.", "sources": []}]
    (tmp_path / "set.json").write_text(json.dumps({"rag_questions": questions}))
    run = command_line("answer-dataset", "set.json", "-k", 4, *(["--details"] if with_details else []))
    assert run.exit_code == 0, run.output
    results = tmp_path / "data/output/search_results_and_answer/set.json"
    (item,) = json.loads(results.read_text())["search_results"]
    assert ("details" in item) is with_details
    if with_details:
        assert set(item["details"]) == {"mode", "model", "fallback_reason", "citations", "sentences"}
    report = command_line("--json", "evaluate-answers", str(results), "set.json")
    assert report.exit_code == 0, report.output
    assert ("not_extractive" in json.loads(report.stdout)["figures"]) is with_details
