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


@pytest.mark.parametrize("timeout", ["0", "inf", "nan"])
def test_a_time_that_no_answer_can_take_is_refused(command_line, tmp_path, timeout):
    (tmp_path / "set.json").write_text(json.dumps({"rag_questions": [{"question_id": "a", "question": "alpha?"}]}))
    run = command_line("answer-dataset", "set.json", "--timeout", timeout)
    assert (run.exit_code, "must be above 0" in run.stderr) == (2, True)
