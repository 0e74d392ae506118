"""From a tree on disk to an answer whose every citation stands in it, through real processes."""

import json
from pathlib import Path

import grpc
import pytest

from groundwire.v1 import answer_pb2, answer_service_pb2, answer_service_pb2_grpc, passage_pb2, retrieval_service_pb2
from tests.support.client import run_client
from tests.support.datasets import QUESTIONS
from tests.support.processes import Server, Worker
from tests.support.rpc import document_text, retrieve

ANSWER_TIMEOUT_S = 90.0


def stream_answer(
    channel: grpc.Channel, question: str, collection: str, options: answer_pb2.AnswerMode.ValueType | None = None
) -> list[answer_service_pb2.AnswerEvent]:
    request = answer_service_pb2.StreamAnswerRequest(
        retrieve=retrieval_service_pb2.RetrieveRequest(query=question, collection=collection, k=3),
        options=answer_service_pb2.AnswerOptions(mode=options or answer_pb2.ANSWER_MODE_UNSPECIFIED),
    )
    stub = answer_service_pb2_grpc.AnswerServiceStub(channel)
    return [response.event for response in stub.StreamAnswer(request, timeout=ANSWER_TIMEOUT_S)]


def assert_citations_stand_in_the_files(result: answer_pb2.AnswerResult, root: Path) -> None:
    assert result.citations
    for citation in result.citations:
        text = (root / citation.path).read_bytes().decode()
        assert text[citation.start_char : citation.end_char] == citation.text
        assert text.count("\n", 0, citation.start_char) + 1 == citation.start_line
        assert text.count("\n", 0, citation.end_char - 1) + 1 == citation.end_line
        passage = result.passages[citation.passage_index]
        assert passage.path == citation.path


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_passage_is_a_verbatim_span_of_its_file(
    channel: grpc.Channel, harbour: str, project_dir: Path, question: str
) -> None:
    response = retrieve(channel, question, collection=harbour, k=20)
    assert response.passages
    for passage in response.passages:
        text = (project_dir / passage.path).read_bytes().decode()
        assert text[passage.start_char : passage.end_char] == passage.text
        assert text.count("\n", 0, passage.start_char) + 1 == passage.start_line
        assert document_text(channel, harbour, passage.path) == text


def test_a_search_is_hybrid_and_best_first(channel: grpc.Channel, harbour: str) -> None:
    response = retrieve(channel, "What do three red lamps mean?", collection=harbour, k=5, explain=True)
    assert response.dense_coverage == 1
    assert response.index_generation >= 1
    assert response.passages[0].path == "examples/harbour/handbook/signals.md"
    assert {score.list for score in response.passages[0].list_scores} == {"bm25", "dense"}
    scores = [passage.score for passage in response.passages]
    assert scores == sorted(scores, reverse=True)


def test_a_generated_answer_streams_and_its_citations_resolve(
    channel: grpc.Channel, harbour: str, worker: Worker, project_dir: Path
) -> None:
    assert worker.is_alive()
    events = stream_answer(channel, QUESTIONS[0], harbour)
    assert [event.sequence for event in events] == sorted({event.sequence for event in events})
    kinds = [event.WhichOneof("event") for event in events]
    assert kinds[0] == "retrieved"
    assert kinds.count("terminal") == 1
    assert kinds[-1] == "terminal"
    result = events[-1].terminal
    assert result.state == answer_pb2.ANSWER_STATE_ANSWERED
    assert result.generator.model
    last_attempt = len(kinds) - kinds[::-1].index("restarted") if "restarted" in kinds else 0
    assert "".join(event.delta.text for event in events[last_attempt:]) == result.text
    assert_citations_stand_in_the_files(result, project_dir)


def test_an_extractive_answer_needs_no_model_and_cites_verbatim(
    channel: grpc.Channel, harbour: str, project_dir: Path
) -> None:
    result = stream_answer(channel, QUESTIONS[0], harbour, answer_pb2.ANSWER_MODE_EXTRACTIVE)[-1].terminal
    assert result.state == answer_pb2.ANSWER_STATE_ANSWERED
    assert result.generator.mode == answer_pb2.ANSWER_MODE_EXTRACTIVE
    assert "fourteen nights" in result.text
    assert_citations_stand_in_the_files(result, project_dir)


def test_a_count_of_records_is_said_and_cites_the_list_that_it_counts(
    server: Server, channel: grpc.Channel, collection: str, worker: Worker, project_dir: Path
) -> None:
    assert worker.is_alive()
    indexed = ("index", "examples/college", "--collection", collection, "--wait")
    run_client(server.address, *indexed, cwd=project_dir).assert_ok()
    question = "How many faculty does Hydrography have?"
    result = stream_answer(channel, question, collection, answer_pb2.ANSWER_MODE_EXTRACTIVE)[-1].terminal
    assert result.state == answer_pb2.ANSWER_STATE_ANSWERED
    assert "Total faculty: 3 (Hydrography)" in result.text
    assert_citations_stand_in_the_files(result, project_dir)
    cited = [json.loads("{" + one.text + "}") for one in result.citations if one.text.startswith('"list"')]
    assert [len(one["list"]) for one in cited] == [3]
    for passage in result.passages:
        assert passage.span_kind == passage_pb2.SPAN_KIND_DERIVED
        text = (project_dir / passage.path).read_bytes().decode()
        assert passage.origin_text == text[passage.start_char : passage.end_char]
    # A model reads what was made, too; what it gets wrong is not backed by a list of other length.
    generated = stream_answer(channel, question, collection)[-1].terminal
    assert "3" in generated.text
    assert_citations_stand_in_the_files(generated, project_dir)


def test_a_question_beyond_the_corpus_is_skipped_and_not_made_up(channel: grpc.Channel, harbour: str) -> None:
    events = stream_answer(channel, "Which enzyme splits lactose in mammals?", harbour)
    result = events[-1].terminal
    assert result.state == answer_pb2.ANSWER_STATE_SKIPPED
    assert result.answer_skipped_reason != retrieval_service_pb2.ANSWER_SKIPPED_REASON_UNSPECIFIED
    assert result.text == ""


def test_the_client_shows_the_line_that_an_answer_cites(server: Server, harbour: str, project_dir: Path) -> None:
    cited = "examples/harbour/handbook/berths.md:8"
    shown = run_client(server.address, "show", cited, "--collection", harbour, cwd=project_dir).assert_ok()
    assert "fourteen nights" in shown.stdout


def test_indexing_again_changes_nothing(server: Server, channel: grpc.Channel, harbour: str, project_dir: Path) -> None:
    before = retrieve(channel, QUESTIONS[0], collection=harbour).index_generation
    again = run_client(
        server.address, "index", "examples/harbour", "--collection", harbour, "--json", cwd=project_dir
    ).assert_ok()
    summary = again.json["summary"]
    assert (summary["added_count"], summary["updated_count"], summary["removed_count"]) == (0, 0, 0)
    assert summary["index_generation"] == before
