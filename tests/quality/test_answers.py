"""Answers to the public questions, and refusals of what the tree does not answer, by the default generator."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.quality.support import invalid_citations, unheld_claims, write_dataset
from tests.support.client import run_client
from tests.support.processes import Server, ServiceProcess, Worker
from tests.support.valkey import Valkey

pytestmark = [pytest.mark.answers, pytest.mark.timeout(10_800)]

DATASETS = "datasets/vllm-0.10.1/AnsweredQuestions"
TREE = "data/raw/vllm-0.10.1"
UNANSWERABLE = Path(__file__).parent / "unanswerable" / "questions.json"
K = 5
INDEX_TIMEOUT_S = 1800.0
ANSWERS_TIMEOUT_S = 7200.0
# Every so many questions are asked; 1 asks all of them.
STRIDE = int(os.environ.get("GROUNDWIRE_QUALITY_STRIDE", "1"))
# A server's data directory that is kept: of a tree that it holds, only what changed is indexed again.
KEPT_DATA_DIR = os.environ.get("GROUNDWIRE_QUALITY_DATA_DIR")


@dataclass(frozen=True)
class Bound:
    """The least, or the most, that a figure may be."""

    least: float = 0.0
    most: float = 1.0


BOUNDS = {
    "token_f1": Bound(least=0.38),
    "not_extractive": Bound(least=0.40),
    "unsupported_sentences": Bound(most=0.0),
    "refused_of_answerable": Bound(most=0.10),
    "refused_of_unanswerable": Bound(least=0.75),
}


@pytest.fixture(scope="module")
def own_queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    """A Valkey for this module."""
    started = Valkey(tmp_path_factory.mktemp("valkey")).start()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def results(
    vllm_root: Path,
    shared_dir: Path,
    own_queue: Valkey,
    tmp_path_factory: pytest.TempPathFactory,
    module_process: Callable[[ServiceProcess], ServiceProcess],
) -> dict[str, Any]:
    """All questions, answered once through the front door: the report, the results and the passages' root."""
    directory = tmp_path_factory.mktemp("answers")
    kept = {"GROUNDWIRE_DATA_DIR": os.path.abspath(KEPT_DATA_DIR)} if KEPT_DATA_DIR else {}
    server = Server(directory, redis_url=own_queue.url, **kept)
    module_process(server).start()
    module_process(Worker(directory, redis_url=own_queue.url)).start()
    run_client(server.address, "index", TREE, "--wait", cwd=vllm_root, timeout_s=INDEX_TIMEOUT_S).assert_ok()
    questions = [
        question
        for kind in ("docs", "code")
        for question in json.loads((shared_dir / DATASETS / f"dataset_{kind}_public.json").read_text())["rag_questions"]
    ]
    questions += json.loads(UNANSWERABLE.read_text(encoding="utf-8"))["questions"]
    asked = write_dataset(directory / "questions.json", questions[::STRIDE])
    answering = ("answer-dataset", asked, "--k", str(K), "--details", "--save-directory", directory / "results")
    run_client(server.address, *answering, cwd=directory, timeout_s=ANSWERS_TIMEOUT_S).assert_ok()
    found = directory / "results" / "questions.json"
    table = run_client(server.address, "evaluate-answers", found, asked, cwd=directory).assert_ok()
    print(f"\n{table.stdout}")  # noqa: T201 - the table is what this is run for
    report = run_client(server.address, "evaluate-answers", found, asked, "--json", cwd=directory).assert_ok()
    return {
        "figures": report.json["figures"],
        "answers": json.loads(found.read_text(encoding="utf-8"))["search_results"],
        "root": vllm_root,
    }


@pytest.mark.parametrize("name", BOUNDS)
def test_a_figure_stays_within_its_bound(results: dict[str, Any], name: str) -> None:
    figure = results["figures"][name]
    assert BOUNDS[name].least <= figure["value"] <= BOUNDS[name].most, figure


def test_no_citation_is_invalid(results: dict[str, Any]) -> None:
    wrong = {
        answer["question"]: found
        for answer in results["answers"]
        if (found := invalid_citations(answer["details"], answer["retrieved_sources"], results["root"]))
    }
    assert not wrong


def test_no_identifier_or_number_is_made_up(results: dict[str, Any]) -> None:
    """Each stands in the retrieved passages, their paths and headings, or, in another spelling, in the question."""
    made_up = {}
    for answer in results["answers"]:
        if not answer["details"]["citations"]:
            continue
        sources = [
            (results["root"] / one["file_path"]).read_text(encoding="utf-8-sig")[
                one["first_character_index"] : one["last_character_index"]
            ]
            for one in answer["retrieved_sources"]
        ]
        paths = [one["file_path"] for one in answer["retrieved_sources"]]
        if unheld := unheld_claims(answer["answer"], [*sources, *paths, answer["question"]]):
            made_up[answer["question"]] = unheld
    assert not made_up
