"""grpcurl, which knows nothing of this project, can explore and call the server by reflection."""

import json
import os
import subprocess
from typing import Any

from tests.support.processes import BIN, Server, Worker


def grpcurl(server: Server, *arguments: str, data: object = None) -> str:
    body = [] if data is None else ["-d", json.dumps(data)]
    done = subprocess.run(
        [os.fspath(BIN / "grpcurl"), "-plaintext", *body, server.address, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def messages(printed: str) -> list[dict[str, Any]]:
    """grpcurl prints the messages of a stream one after the other."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(printed.rstrip()):
        message, at = decoder.raw_decode(printed, at)
        found.append(message)
        at = len(printed) - len(printed[at:].lstrip())
    return found


def test_list_names_every_service(server: Server) -> None:
    listed = set(grpcurl(server, "list").split())
    ours = {f"groundwire.v1.{name}Service" for name in ("Retrieval", "Answer", "Corpus", "Evaluation", "Admin")}
    assert ours | {"grpc.health.v1.Health"} <= listed


def test_describe_shows_methods_and_messages(server: Server) -> None:
    assert "rpc Retrieve (" in grpcurl(server, "describe", "groundwire.v1.RetrievalService")
    assert "string query = 2" in grpcurl(server, "describe", "groundwire.v1.RetrieveRequest")


def test_health_is_serving_for_the_whole_and_for_each_service(server: Server) -> None:
    for service in ("", "groundwire.v1.RetrievalService", "groundwire.v1.CorpusService"):
        reply = json.loads(grpcurl(server, "grpc.health.v1.Health/Check", data={"service": service}))
        assert reply == {"status": "SERVING"}, service


def test_retrieve_returns_passages_with_their_places(server: Server, harbour: str) -> None:
    request = {"collection": harbour, "query": "three red lamps at the tide gate", "k": 3}
    reply = json.loads(grpcurl(server, "groundwire.v1.RetrievalService/Retrieve", data=request))
    best = reply["passages"][0]
    assert best["path"] == "examples/harbour/handbook/signals.md"
    assert isinstance(best["start_line"], int)
    assert len(reply["passages"]) == 3


def test_stream_answer_ends_with_one_terminal_message(server: Server, harbour: str, worker: Worker) -> None:
    assert worker.is_alive()
    request = {
        "retrieve": {"collection": harbour, "query": "How long may a visiting boat stay at the guest pontoon?", "k": 3}
    }
    events = [
        message["event"]
        for message in messages(grpcurl(server, "groundwire.v1.AnswerService/StreamAnswer", data=request))
    ]
    assert "retrieved" in events[0]
    assert ["terminal" in event for event in events] == [False] * (len(events) - 1) + [True]
    assert events[-1]["terminal"]["state"] == "ANSWER_STATE_ANSWERED"
    assert events[-1]["terminal"]["citations"]
