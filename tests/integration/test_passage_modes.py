"""Answers with a prompt for each passage, from the client's command line to the model and back."""

import json
from pathlib import Path

import grpc
import pytest

from groundwire.v1 import answer_pb2, answer_service_pb2, answer_service_pb2_grpc, retrieval_service_pb2
from tests.support.client import run_client
from tests.support.datasets import QUESTIONS
from tests.support.processes import Server, Worker

MODES = ("rag_sequence", "rag_token")
ANSWER_TIMEOUT_S = 90.0


@pytest.mark.parametrize("mode", MODES)
def test_the_client_asks_for_a_mode_and_is_told_what_each_passage_counted(
    server: Server, harbour: str, worker: Worker, project_dir: Path, mode: str
) -> None:
    assert worker.is_alive()
    ask = ("answer", QUESTIONS[0], "--collection", harbour, "-k", "4", "--mode", mode, "--fallback", "none")
    run = run_client(server.address, *ask, "--json", cwd=project_dir).assert_ok()
    events = [json.loads(line) for line in run.stdout.splitlines()]
    result = events[-1]["result"]
    made = result["generator"]
    assert (result["state"], made["mode"]) == ("answered", mode)
    assert result["text"]
    weights = made["passage_weights"]
    assert [one["packed_index"] for one in weights] == list(range(len(result["packed_passages"])))
    assert len(weights) > 1
    for name in ("prior", "posterior"):
        assert sum(one[name] for one in weights) == pytest.approx(1)
    writers = [one["packed_index"] for one in weights if one["wrote_answer"]]
    assert len(writers) == (mode == "rag_sequence")
    # One prompt a passage: no two spans of one.
    origins = [tuple(one["passage_indexes"]) for one in result["packed_passages"]]
    assert len(set(origins)) == len(origins)
    for citation in result["citations"]:
        text = (project_dir / citation["path"]).read_bytes().decode()
        assert text[citation["start_char"] : citation["end_char"]] == citation["text"]
        if writers:
            [writer] = writers
            span = result["packed_passages"][writer]
            assert citation["path"] == span["path"]
            assert span["start_char"] <= citation["start_char"] < citation["end_char"] <= span["end_char"]
    shown = run_client(server.address, *ask, cwd=project_dir).assert_ok()
    assert f"(mode {mode}" in shown.stdout
    assert "Written from: " in shown.stdout


def test_with_one_passage_all_modes_say_the_same(channel: grpc.Channel, harbour: str, worker: Worker) -> None:
    assert worker.is_alive()
    stub = answer_service_pb2_grpc.AnswerServiceStub(channel)

    def text(mode: answer_pb2.AnswerMode.ValueType) -> str:
        request = answer_service_pb2.AnswerRequest(
            retrieve=retrieval_service_pb2.RetrieveRequest(query=QUESTIONS[1], collection=harbour, k=1),
            options=answer_service_pb2.AnswerOptions(
                mode=mode,
                fallback=answer_pb2.ANSWER_FALLBACK_NONE,
                packing=answer_pb2.PackingOptions(focus_chars=0),
            ),
        )
        result = stub.Answer(request, timeout=ANSWER_TIMEOUT_S).result
        assert result.generator.mode == mode
        return str(result.text)

    plain = text(answer_pb2.ANSWER_MODE_STUFF)
    assert plain
    assert text(answer_pb2.ANSWER_MODE_RAG_SEQUENCE) == plain
    assert text(answer_pb2.ANSWER_MODE_RAG_TOKEN) == plain


@pytest.mark.parametrize("mode", [answer_pb2.ANSWER_MODE_RAG_SEQUENCE, answer_pb2.ANSWER_MODE_RAG_TOKEN])
def test_without_passages_it_is_skipped_as_in_every_mode(
    channel: grpc.Channel, harbour: str, mode: answer_pb2.AnswerMode.ValueType
) -> None:
    request = answer_service_pb2.AnswerRequest(
        retrieve=retrieval_service_pb2.RetrieveRequest(query="Which enzyme splits lactose?", collection=harbour, k=3),
        options=answer_service_pb2.AnswerOptions(mode=mode),
    )
    result = answer_service_pb2_grpc.AnswerServiceStub(channel).Answer(request, timeout=ANSWER_TIMEOUT_S).result
    assert result.state == answer_pb2.ANSWER_STATE_SKIPPED
    assert result.answer_skipped_reason != retrieval_service_pb2.ANSWER_SKIPPED_REASON_UNSPECIFIED
