"""Question sets with mistakes in them: the file and the place are named, and one bad question never ends the rest."""

import json
from pathlib import Path

import pytest

from tests.support.client import ClientRun, run_client
from tests.support.datasets import write_dataset
from tests.support.processes import Server


def search_dataset(server: Server, home: Path, dataset: str, *extra: str) -> ClientRun:
    return run_client(
        server.address,
        "search-dataset",
        dataset,
        "--save-directory",
        "out",
        "--collection",
        "harbour",
        *extra,
        cwd=home,
    )


def results(home: Path) -> list[dict[str, object]]:
    (written,) = (home / "out").glob("*.json")
    found = json.loads(written.read_text(encoding="utf-8"))["search_results"]
    assert isinstance(found, list)
    return found


@pytest.mark.usefixtures("harbour")
class TestDatasets:
    def test_a_missing_file_is_named(self, server: Server, tmp_path: Path) -> None:
        search_dataset(server, tmp_path, "missing.json").assert_refused("missing.json")

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"{",
            b"[]",
            b"null",
            b"3",
            b'{"questions": []}',
            b'{"rag_questions": 3}',
            b"\xff\xfe\x00",
            b"[" * 100_000,
        ],
        ids=lambda content: content[:44].decode("latin-1"),
    )
    def test_a_malformed_file_is_named(self, server: Server, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "bad.json").write_bytes(content)
        search_dataset(server, tmp_path, "bad.json").assert_refused("bad.json")
        assert not list(tmp_path.glob("out/*.json"))

    @pytest.mark.parametrize(
        "item",
        [3, None, {}, {"question": "no id"}, {"question_id": "a"}, {"question_id": "a", "question": 5}],
        ids=repr,
    )
    def test_a_malformed_question_is_named_and_the_others_are_answered(
        self, server: Server, tmp_path: Path, item: object
    ) -> None:
        questions = [{"question_id": "good", "question": "tide gate"}, item]
        (tmp_path / "some.json").write_text(json.dumps({"rag_questions": questions}), encoding="utf-8")
        done = search_dataset(server, tmp_path, "some.json")
        assert done.exit_code == 1
        assert "Traceback" not in done.output
        assert "some.json" in done.stderr, done.output
        assert next(result for result in results(tmp_path) if result["question_id"] == "good")["retrieved_sources"]

    def test_an_empty_question_is_named_and_the_others_are_answered(self, server: Server, tmp_path: Path) -> None:
        write_dataset(tmp_path / "some.json", ("tide gate", "", "storm closure", "   "))
        done = search_dataset(server, tmp_path, "some.json")
        assert "q1" in done.stderr, done.output
        assert "Traceback" not in done.output
        found = {str(result["question_id"]): result["retrieved_sources"] for result in results(tmp_path)}
        assert found["q0"]
        assert found["q2"]
        assert not found.get("q1")

    def test_a_duplicate_id_is_named(self, server: Server, tmp_path: Path) -> None:
        one = {"question_id": "twice", "question": "tide gate"}
        (tmp_path / "double.json").write_text(json.dumps({"rag_questions": [one, one]}), encoding="utf-8")
        done = search_dataset(server, tmp_path, "double.json")
        assert "twice" in done.stderr, done.output
        assert "Traceback" not in done.output

    def test_a_folder_that_cannot_be_written_is_named(self, server: Server, tmp_path: Path) -> None:
        write_dataset(tmp_path / "good.json")
        (tmp_path / "out").write_text("a file where the folder should be", encoding="utf-8")
        search_dataset(server, tmp_path, "good.json").assert_refused("out")

    def test_a_finished_run_computes_again_and_gives_the_same_bytes(self, server: Server, tmp_path: Path) -> None:
        write_dataset(tmp_path / "good.json")
        search_dataset(server, tmp_path, "good.json").assert_ok()
        (written,) = (tmp_path / "out").glob("*.json")
        first = written.read_bytes()
        written.write_bytes(b"spoiled")
        search_dataset(server, tmp_path, "good.json").assert_ok()
        assert written.read_bytes() == first

    def test_the_spelling_of_the_ecosystem_is_accepted(self, server: Server, tmp_path: Path) -> None:
        write_dataset(tmp_path / "good.json")
        run_client(
            server.address,
            *("search_dataset", "--dataset_path", "good.json", "--k", "3", "--save_directory", "out"),
            *("--collection", "harbour"),
            cwd=tmp_path,
        ).assert_ok()
        assert all(len(result["retrieved_sources"]) <= 3 for result in results(tmp_path))  # type: ignore[arg-type]

    def test_no_server_is_one_line(self, tmp_path: Path) -> None:
        write_dataset(tmp_path / "good.json")
        run_client("127.0.0.1:1", "search-dataset", "good.json", cwd=tmp_path).assert_refused("127.0.0.1:1")
