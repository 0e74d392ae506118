"""client evaluate: a table and JSON, without a server."""

import json

import pytest


@pytest.fixture
def files(tmp_path):
    def source(path: str, first: int, last: int) -> dict:
        return {"file_path": path, "first_character_index": first, "last_character_index": last}

    golds = {"q1": source("data/raw/a.py", 0, 100), "q2": source("data/raw/b.py", 0, 100), "q3": source("c.py", 0, 10)}
    found = {"q1": [source("data/raw/a.py", 0, 90)], "q2": [source("x.py", 0, 9), source("raw/b.py", 10, 90)]}
    dataset = {"rag_questions": [{"question_id": i, "question": f"{i}?", "sources": [s]} for i, s in golds.items()]}
    results = {
        "search_results": [
            {"question_id": i, "question": f"{i}?", "retrieved_sources": found.get(i, [])} for i in ("q2", "q1", "q3")
        ],
        "k": 5,
    }
    (tmp_path / "dataset.json").write_text(json.dumps(dataset))
    (tmp_path / "results.json").write_text(json.dumps(results))
    return tmp_path


def change(path, edit) -> None:
    loaded = json.loads(path.read_text())
    edit(loaded)
    path.write_text(json.dumps(loaded))


SPELLINGS = [
    ("evaluate", "results.json", "dataset.json"),
    ("evaluate", "--student_search_results_path", "results.json", "--dataset_path", "dataset.json", "--k", "5"),
    ("evaluate", "--student-search-results-path", "results.json", "dataset.json"),
    ("evaluate", "results.json", "--dataset-path", "dataset.json", "-k", "5"),
]


@pytest.mark.parametrize("arguments", SPELLINGS)
def test_every_spelling_gives_the_table(command_line, server, files, arguments):
    server.stop()
    run = command_line(*arguments)
    assert run.exit_code == 0, run.output
    rows = [line.split()[:2] for line in run.stdout.splitlines()[1:]]
    assert rows == [["recall@1", "33.3%"], ["recall@3", "66.7%"], ["recall@5", "66.7%"]]


def test_json_has_counts_and_intervals(command_line, files):
    found = json.loads(command_line("--json", "evaluate", "results.json", "dataset.json", "--k", 3).stdout)
    assert found["question_count"] == 3
    assert found["recall"]["recall@3"]["found_count"] == 2
    assert 0 < found["recall"]["recall@3"]["low"] < 2 / 3 < found["recall"]["recall@3"]["high"] < 1


def test_a_cutoff_above_that_of_the_results_is_lowered_and_said(command_line, files):
    run = command_line("evaluate", "results.json", "dataset.json", "--k", 10)
    assert "k = 5" in run.stderr
    assert "recall@10" not in run.stdout


def test_a_question_without_results_counts_as_not_found(command_line, files):
    change(files / "results.json", lambda it: it["search_results"].pop(0))
    run = command_line("evaluate", "results.json", "dataset.json", "--json")
    found = json.loads(run.stdout)
    assert (found["missing_count"], found["question_count"]) == (1, 3)
    assert found["recall"]["recall@5"]["found_count"] == 1
    assert "not in the results and count as not found: 1" in run.stderr


def test_two_items_with_one_id_are_matched_in_order(command_line, files):
    def twice(loaded):
        loaded[next(iter(loaded))].append(loaded[next(iter(loaded))][0])

    change(files / "results.json", twice)
    change(files / "dataset.json", twice)
    run = command_line("evaluate", "results.json", "dataset.json", "--json")
    assert json.loads(run.stdout)["question_count"] == 4
    assert "the same as that of item 1" in run.stderr


def test_an_unanswered_dataset_is_an_error(command_line, files):
    change(files / "dataset.json", lambda it: [one.pop("sources") for one in it["rag_questions"]])
    run = command_line("evaluate", "results.json", "dataset.json")
    assert (run.exit_code, run.stderr) == (
        1,
        "client: dataset.json: no question has sources: name the answered dataset\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("evaluate",), "missing RESULTS"),
        (("evaluate", "results.json"), "missing DATASET"),
        (("evaluate", "results.json", "dataset.json", "--dataset-path", "other.json"), "DATASET is given twice"),
        (("evaluate", "results.json", "dataset.json", "--k", "0"), "--k"),
    ],
)
def test_wrong_usage(command_line, files, arguments, message):
    run = command_line(*arguments)
    assert run.exit_code == 2
    assert message in run.stderr
    assert run.stderr.count("\n") == 1
