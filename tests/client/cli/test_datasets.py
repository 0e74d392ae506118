"""search-dataset and answer-dataset: format, bad items, resumption, atomic results."""

import json

import pytest

import client.cli.dataset_run as dataset_run


def write_dataset(path, *questions, ids=None) -> None:
    ids = ids or [f"id{i}" for i in range(len(questions))]
    items = [{"question_id": i, "question": q} for i, q in zip(ids, questions, strict=True)]
    path.write_text(json.dumps({"rag_questions": items}, ensure_ascii=False), encoding="utf-8")


@pytest.fixture
def dataset(tmp_path):
    write_dataset(tmp_path / "set.json", "first", "nothing here", "third é")
    return tmp_path / "set.json"


def test_the_result_file_has_the_format_of_the_ecosystem(command_line, dataset, tmp_path):
    run = command_line("search-dataset", "set.json", "--k", 2)
    assert run.exit_code == 0, run.output
    text = (tmp_path / "data/output/search_results/set.json").read_text(encoding="utf-8")
    assert "third é" in text
    assert json.loads(text) == {
        "search_results": [
            {
                "question_id": "id0",
                "question": "first",
                "retrieved_sources": [
                    {"file_path": "docs/page1.md", "first_character_index": 10, "last_character_index": 41},
                    {"file_path": "docs/page2.md", "first_character_index": 10, "last_character_index": 41},
                ],
            },
            {"question_id": "id1", "question": "nothing here", "retrieved_sources": []},
            {
                "question_id": "id2",
                "question": "third é",
                "retrieved_sources": [
                    {"file_path": "docs/page1.md", "first_character_index": 10, "last_character_index": 43},
                    {"file_path": "docs/page2.md", "first_character_index": 10, "last_character_index": 43},
                ],
            },
        ],
        "k": 2,
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ("search_dataset", "--dataset_path", "set.json", "--k", "10", "--save_directory", "out"),
        ("search-dataset", "set.json", "-k", "10", "--save-directory", "out"),
        ("--json", "search-dataset", "--save-directory=out", "--dataset-path=set.json"),
        ("search-dataset", "--json", "set.json", "--dataset-path", "set.json", "--save_directory", "out"),
    ],
)
def test_every_spelling_writes_the_same_bytes(command_line, dataset, tmp_path, arguments):
    assert command_line(*arguments).exit_code == 0
    first = (tmp_path / "out/set.json").read_bytes()
    assert command_line("search-dataset", "set.json", "--save-directory", "again").exit_code == 0
    assert (tmp_path / "again/set.json").read_bytes() == first
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["set.json"]


def test_bad_items_are_named_and_end_nothing(command_line, tmp_path, server):
    items = [
        {"question_id": "a", "question": "good"},
        {"question_id": "b", "question": "   "},
        {"question_id": "a", "question": "also good"},
        {"question": "no id"},
        "not an object",
        {"question_id": "c", "question": 5},
        {"question_id": "d", "question": "bad"},
        {"question_id": "e", "question": "lone \ud800 surrogate"},
        {"question_id": "f", "question": "x", "sources": [{"file_path": 3}]},
    ]
    (tmp_path / "set.json").write_text(json.dumps({"rag_questions": items}))
    run = command_line("search-dataset", "set.json", "--k", 1)
    assert run.exit_code == 1
    results = json.loads((tmp_path / "data/output/search_results/set.json").read_text(encoding="utf-8"))
    found = [(one["question_id"], len(one["retrieved_sources"])) for one in results["search_results"]]
    assert found == [("a", 1), ("b", 0), ("a", 1), ("", 0), ("", 0), ("c", 0), ("d", 0), ("e", 0), ("f", 1)]
    lines = run.stderr.splitlines()
    assert lines[0] == "client: item 2 (question_id 'b'): question: must be a text that is not blank"
    assert lines[1] == "client: item 3 (question_id 'a'): question_id: the same as that of item 1"
    assert lines[-1].startswith("client: 8 bad items; data/output/search_results/set.json holds all the others")
    assert "Traceback" not in run.output
    assert sorted(server.state.queries) == ["also good", "good", "x"]


def test_a_missing_dataset_and_a_folder_are_one_line(command_line, tmp_path):
    assert command_line("search-dataset", "no.json").stderr == "client: no.json: does not exist\n"
    assert command_line("search-dataset", ".").stderr == "client: .: is not a file\n"
    assert command_line("search-dataset").exit_code == 2


def test_a_byte_order_mark_is_no_harm(command_line, dataset):
    dataset.write_bytes(b"\xef\xbb\xbf" + dataset.read_bytes())
    assert command_line("search-dataset", "set.json").exit_code == 0


def test_an_empty_dataset_has_empty_results(command_line, tmp_path):
    write_dataset(tmp_path / "set.json")
    assert command_line("search-dataset", "set.json").exit_code == 0
    assert json.loads((tmp_path / "data/output/search_results/set.json").read_text()) == {"search_results": [], "k": 10}


def test_the_dataset_is_never_overwritten(command_line, dataset):
    before = dataset.read_bytes()
    run = command_line("search-dataset", "set.json", "--save-directory", ".")
    assert run.exit_code == 2
    assert "would overwrite" in run.stderr
    assert dataset.read_bytes() == before


def test_a_directory_that_cannot_be_made_is_one_line(command_line, dataset):
    run = command_line("search-dataset", "set.json", "--save-directory", "set.json/out")
    assert run.exit_code == 1
    assert run.stderr == "client: set.json/out/set.json: cannot be written: not a directory\n"


def test_an_unknown_collection_ends_the_run_before_it_begins(command_line, dataset, tmp_path):
    run = command_line("search-dataset", "set.json", "--collection", "nowhere")
    assert run.stderr == "client: there is no collection nowhere\n"
    assert not (tmp_path / "data").exists()


def test_a_busy_server_is_asked_again(command_line, dataset, server, monkeypatch):
    monkeypatch.setattr(dataset_run, "_PAUSE_S", 0.01)
    server.state.busy_queries = {"first": 2}
    assert command_line("search-dataset", "set.json").exit_code == 0
    assert sorted(server.state.queries) == ["first", "nothing here", "third é"]


def test_a_server_that_stays_busy_fails_that_item_only(command_line, dataset, server, monkeypatch):
    monkeypatch.setattr(dataset_run, "_PAUSE_S", 0.01)
    server.state.busy_queries = {"first": 99}
    run = command_line("search-dataset", "set.json")
    assert run.exit_code == 1
    assert "item 1 (question_id 'id0'): too many calls" in run.stderr


def cut_off(command_line, server, monkeypatch, *extra):
    """Run until three of ten are answered and the server is gone."""
    from client import _batch

    monkeypatch.setattr(_batch, "_MAX_RECONNECT_COUNT", 0)
    server.state.break_batch_after = [3]
    run = command_line("search-dataset", "set.json", *extra)
    assert run.exit_code == 1
    assert "3 of 10 are kept, run the same again to go on" in run.stderr
    done = list(server.state.queries)
    server.state.queries.clear()
    return done


@pytest.fixture
def ten(tmp_path):
    write_dataset(tmp_path / "set.json", *(f"q{i}" for i in range(10)))
    return tmp_path / "set.json"


def test_an_unfinished_run_goes_on_and_gives_the_same_bytes(command_line, ten, server, monkeypatch, tmp_path):
    done = cut_off(command_line, server, monkeypatch)
    run = command_line("search-dataset", "set.json")
    assert run.exit_code == 0
    assert "3 of 10 are done" in run.stderr
    assert sorted(done + server.state.queries) == [f"q{i}" for i in range(10)]
    resumed = (tmp_path / "data/output/search_results/set.json").read_bytes()
    assert command_line("search-dataset", "set.json", "--save-directory", "whole").exit_code == 0
    assert (tmp_path / "whole/set.json").read_bytes() == resumed


def test_a_finished_run_computes_again(command_line, ten, server):
    for _ in range(2):
        assert command_line("search-dataset", "set.json").exit_code == 0
    assert len(server.state.queries) == 20


TAMPERED = {
    "infinite": '{"item": Infinity, "entry": {}}',
    "deep": "[" * 100_000,
    "beyond": '{"item": 11, "entry": {}}',
    "no entry": '{"item": 5, "entry": [["question_id", "q"]]}',
}


@pytest.mark.parametrize("change", ["k", "generation", "vectors", "dataset", "torn", *TAMPERED])
def test_an_unfinished_run_under_other_conditions_begins_anew(command_line, ten, server, monkeypatch, tmp_path, change):
    cut_off(command_line, server, monkeypatch)
    extra = ()
    if change == "k":
        extra = ("--k", "3")
    elif change == "generation":
        server.state.index_generation += 1
    elif change == "vectors":
        server.state.vector_epoch += 1
    elif change in TAMPERED:
        journal = tmp_path / "data/output/search_results/set.json.journal"
        journal.write_text(f"{journal.read_text()}{TAMPERED[change]}\n")
    elif change == "dataset":
        ten.write_text(ten.read_text() + "\n")
    else:
        journal = tmp_path / "data/output/search_results/set.json.journal"
        journal.write_text(journal.read_text().replace('"item"', '"itm"'))
    assert command_line("search-dataset", "set.json", *extra).exit_code == 0
    assert len(server.state.queries) == 10


def test_a_line_that_was_being_written_when_the_run_ended_is_passed_over(
    command_line, ten, server, monkeypatch, tmp_path
):
    cut_off(command_line, server, monkeypatch)
    journal = tmp_path / "data/output/search_results/set.json.journal"
    journal.write_text(journal.read_text() + '{"item": 4, "ent')
    assert command_line("search-dataset", "set.json").exit_code == 0
    assert len(server.state.queries) == 7


def test_vectors_that_are_still_being_computed_are_said(command_line, dataset, server):
    server.state.dense_coverage = 0.25
    assert "vectors: 25% computed" in command_line("search-dataset", "set.json").stderr


def test_json_is_one_object(command_line, dataset):
    run = command_line("search-dataset", "set.json", "--json")
    told = json.loads(run.stdout)
    assert (told["question_count"], told["k"], told["index_generation"], told["problems"]) == (3, 10, 7, {})


def test_answers_are_added_in_the_order_of_the_dataset(command_line, tmp_path):
    write_dataset(tmp_path / "set.json", "one", "unknown", "bad", "failing")
    run = command_line("answer_dataset", "--dataset_path", "set.json", "--save_directory", "out")
    assert run.exit_code == 1
    results = json.loads((tmp_path / "out/set.json").read_text())
    answers = [one["answer"] for one in results["search_results"]]
    assert answers[0] == "Answer to one"
    assert answers[1].startswith("I don't know")
    assert answers[2:] == ["", ""]
    assert set(results["search_results"][0]) == {"question_id", "question", "retrieved_sources", "answer"}
    assert "1 answer made by tiny (stuff)" in run.stdout
    assert "item 4 (question_id 'id3'): the model failed" in run.stderr


def test_answers_to_search_results_take_their_k(command_line, dataset, tmp_path):
    command_line("search-dataset", "set.json", "--k", 4)
    run = command_line(
        "answer_dataset", "--student_search_results_path", "data/output/search_results/set.json", "--json"
    )
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)["k"] == 4
    assert (tmp_path / "data/output/search_results_and_answer/set.json").is_file()


def test_two_files_for_answers_are_wrong_usage(command_line):
    run = command_line("answer-dataset", "--dataset-path", "a", "--student-search-results-path", "b")
    assert run.exit_code == 2
    assert command_line("answer-dataset").exit_code == 2
