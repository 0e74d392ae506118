"""client evaluate-answers: figures by hand on a small set, without a server."""

import json

import pytest


def source(path: str, first: int, last: int) -> dict:
    return {"file_path": path, "first_character_index": first, "last_character_index": last}


def details(mode: str, citations: list, verdicts: list) -> dict:
    sentences = [
        {"first_character_index": 0, "last_character_index": 9, "supported": supported} for supported in verdicts
    ]
    return {"mode": mode, "model": "m", "fallback_reason": "", "citations": citations, "sentences": sentences}


QUESTIONS = [
    {"question_id": "a", "question": "a?", "answer": "It is eight.", "sources": [source("data/x.py", 100, 200)]},
    {"question_id": "b", "question": "b?", "answer": "It is nine.", "sources": [source("data/y.py", 0, 50)]},
    {"question_id": "c", "question": "c?", "answer": "It is ten.", "sources": [source("data/z.py", 0, 50)]},
    {"question_id": "u", "question": "u?", "kind": "near_miss"},
    {"question_id": "v", "question": "v?", "kind": "other_domain"},
]
RESULTS = [
    {"question_id": "a", "question": "a?", "answer": "It is eight.",
     "details": details("stuff", [source("x.py", 150, 210), source("x.py", 190, 260)], [True, False])},
    {"question_id": "b", "question": "b?", "answer": "y",
     "details": details("extractive", [source("y.py", 0, 20)], [True])},
    {"question_id": "c", "question": "c?", "answer": "I don't know: nothing matches.",
     "details": details("unspecified", [], [])},
    {"question_id": "u", "question": "u?", "answer": "I don't know: nothing matches.",
     "details": details("unspecified", [], [])},
    {"question_id": "v", "question": "v?", "answer": "Surely.", "details": details("stuff", [], [False])},
]  # fmt: skip


@pytest.fixture
def files(tmp_path):
    (tmp_path / "dataset.json").write_text(json.dumps({"rag_questions": QUESTIONS}))
    (tmp_path / "results.json").write_text(json.dumps({"search_results": RESULTS, "k": 5}))
    return tmp_path


def figures(run) -> dict:
    assert run.exit_code == 0, run.output
    return json.loads(run.stdout)["figures"]


def test_each_figure_is_what_it_is_by_hand(command_line, files):
    found = figures(command_line("--json", "evaluate-answers", "results.json", "dataset.json"))
    values = {name: (pytest.approx(figure["value"]), figure["count"]) for name, figure in found.items()}
    assert values == {
        "token_f1": (1 / 3, 3),
        "new_words_f1": (1 / 3, 3),
        "rouge_l": (1 / 3, 3),
        "citation_precision": (2 / 3, 3),
        "citation_recall": (1.0, 2),
        "unsupported_sentences": (1 / 3, 3),
        "not_extractive": (1 / 2, 2),
        "refused_of_answerable": (1 / 3, 3),
        "refused_of_unanswerable": (1 / 2, 2),
        "refused_of_near_miss": (1.0, 1),
        "refused_of_other_domain": (0.0, 1),
    }
    assert all(figure["low"] <= figure["value"] <= figure["high"] for figure in found.values())


def test_the_table_names_each_figure(command_line, server, files):
    server.stop()
    run = command_line(
        "evaluate-answers", "--student_search_results_path", "results.json", "--dataset_path", "dataset.json"
    )
    assert run.exit_code == 0, run.output
    assert "token F1" in run.stdout
    assert "unanswerable questions refused" in run.stdout


def test_results_without_details_still_show_likeness_and_refusals(command_line, files):
    plain = [{key: value for key, value in one.items() if key != "details"} for one in RESULTS]
    (files / "plain.json").write_text(json.dumps({"search_results": plain, "k": 5}))
    found = figures(command_line("--json", "evaluate-answers", "plain.json", "dataset.json"))
    assert "citation_precision" not in found
    assert found["refused_of_answerable"]["value"] == pytest.approx(1 / 3)


def test_a_missing_result_counts_as_no_answer_and_is_said(command_line, files):
    (files / "few.json").write_text(json.dumps({"search_results": RESULTS[:1], "k": 5}))
    run = command_line("--json", "evaluate-answers", "few.json", "dataset.json")
    assert figures(run)["token_f1"]["count"] == 3
    assert "not in the results" in run.stderr


@pytest.mark.parametrize("details", [{"mode": "stuff"}, {"mode": "stuff", "citations": [3], "sentences": []}])
def test_broken_details_are_one_clear_line(command_line, files, details):
    broken = [{**RESULTS[0], "details": details}]
    (files / "broken.json").write_text(json.dumps({"search_results": broken, "k": 5}))
    run = command_line("evaluate-answers", "broken.json", "dataset.json")
    assert run.exit_code == 1
    assert "details:" in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
