"""A small server that speaks the contract from memory, for tests of the client alone."""

import time
from concurrent import futures

import grpc

from groundwire.v1 import (
    admin_service_pb2_grpc,
    answer_service_pb2_grpc,
    corpus_service_pb2_grpc,
    retrieval_service_pb2_grpc,
)
from tests.client.fake_answers import Answers, answer_events, answered_result
from tests.client.fake_corpus import Admin, Corpus
from tests.client.fake_retrieval import Retrieval
from tests.client.fake_state import MIB, FakeState

__all__ = ["MIB", "FakeServer", "answer_events", "answered_result", "wait_until"]


class FakeServer:
    """The server on a free port of loopback."""

    def __init__(self, address: str = "127.0.0.1:0") -> None:
        self.state = FakeState()
        self._server = grpc.server(
            futures.ThreadPoolExecutor(max_workers=8),
            options=[("grpc.max_receive_message_length", 8 * MIB), ("grpc.max_send_message_length", 8 * MIB)],
        )
        retrieval_service_pb2_grpc.add_RetrievalServiceServicer_to_server(Retrieval(self.state), self._server)
        answer_service_pb2_grpc.add_AnswerServiceServicer_to_server(Answers(self.state), self._server)
        corpus_service_pb2_grpc.add_CorpusServiceServicer_to_server(Corpus(self.state), self._server)
        admin_service_pb2_grpc.add_AdminServiceServicer_to_server(Admin(self.state), self._server)
        check = grpc.unary_unary_rpc_method_handler(lambda _request, _context: b"\x08\x01")
        health = grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": check})
        self._server.add_generic_rpc_handlers((health,))
        self.address = f"127.0.0.1:{self._server.add_insecure_port(address)}"
        self._server.start()

    def stop(self) -> None:
        self.state.hold.set()
        self._server.stop(grace=0).wait(60)


def wait_until(condition, timeout_s: float = 60.0) -> None:
    """Poll until `condition()` is true."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the condition did not come true in time")
        time.sleep(0.01)
