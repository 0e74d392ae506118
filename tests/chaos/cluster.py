"""All processes of one chaos test, and what an answer's stream must look like whatever happened to them."""

from collections.abc import Iterator
from dataclasses import dataclass

import grpc

from groundwire.v1 import answer_pb2, answer_service_pb2, answer_service_pb2_grpc, retrieval_service_pb2
from tests.support.processes import Server, Worker
from tests.support.valkey import Valkey

LEASE_S = 3.0
CALL_TIMEOUT_S = 240.0


@dataclass
class Cluster:
    """All processes of one test."""

    valkey: Valkey
    server: Server
    workers: list[Worker]

    def answer(
        self,
        channel: grpc.Channel,
        request_id: str,
        *,
        timeout_s: int = 200,
        fallback: answer_pb2.AnswerFallback.ValueType = answer_pb2.ANSWER_FALLBACK_NONE,
        mode: answer_pb2.AnswerMode.ValueType = answer_pb2.ANSWER_MODE_STUFF,
        query: str = "Write down every step of the storm procedure and of the night watch in full sentences.",
    ) -> Iterator[answer_service_pb2.AnswerEvent]:
        """Stream an answer as the model writes it: unless told, no fallback that would replace it, no abstention."""
        options = answer_service_pb2.AnswerOptions(
            mode=mode, fallback=fallback, answer_anyway=True, max_completion_tokens=400
        )
        options.timeout.FromSeconds(timeout_s)
        request = answer_service_pb2.StreamAnswerRequest(
            retrieve=retrieval_service_pb2.RetrieveRequest(query=query, k=6),
            options=options,
            request_id=request_id,
        )
        stub = answer_service_pb2_grpc.AnswerServiceStub(channel)
        for response in stub.StreamAnswer(request, timeout=CALL_TIMEOUT_S):
            yield response.event

    def holder_of(self, request_id: str) -> Worker:
        """The worker that claimed the job last."""
        claims = [
            (event["timestamp"], index)
            for index, worker in enumerate(self.workers)
            for event in worker.events("job claimed")
            if request_id in event["job_id"]
        ]
        return self.workers[max(claims)[1]]


def assert_one_terminal_with_the_final_text(
    events: list[answer_service_pb2.AnswerEvent],
) -> answer_pb2.AnswerResult:
    """Exactly one terminal message, the last; the deltas after the last restart are its text."""
    kinds = [event.WhichOneof("event") for event in events]
    assert kinds.count("terminal") == 1, kinds
    assert kinds[-1] == "terminal"
    last_attempt = len(kinds) - kinds[::-1].index("restarted") if "restarted" in kinds else 0
    result = events[-1].terminal
    assert "".join(event.delta.text for event in events[last_attempt:]) == result.text
    return result
