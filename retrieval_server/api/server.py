"""The gRPC server: servicers, health, reflection, limits."""

from collections.abc import Mapping, Sequence
from typing import cast

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from groundwire.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    answer_service_pb2,
    answer_service_pb2_grpc,
    corpus_service_pb2,
    corpus_service_pb2_grpc,
    evaluation_service_pb2,
    evaluation_service_pb2_grpc,
    retrieval_service_pb2,
    retrieval_service_pb2_grpc,
)
from retrieval_server.api.departed_callers import ignore_departed_callers
from retrieval_server.api.interceptor import RpcInterceptor
from retrieval_server.metrics import Metrics
from retrieval_server.settings import ServerSettings

_SERVICE_NAMES = tuple(
    module.DESCRIPTOR.services_by_name[name].full_name
    for module, name in (
        (retrieval_service_pb2, "RetrievalService"),
        (answer_service_pb2, "AnswerService"),
        (corpus_service_pb2, "CorpusService"),
        (evaluation_service_pb2, "EvaluationService"),
        (admin_service_pb2, "AdminService"),
    )
)
_MIN_PING_INTERVAL_MS = 10_000
_KEEPALIVE_MS = 60_000
_KEEPALIVE_TIMEOUT_MS = 20_000


class _ByName:
    """A server whose methods are looked up when they are called.

    Methods that are registered with gRPC's core have a task each, and for every call of any method grpc.aio waits for
    all of these tasks anew.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """Add handlers that are asked by the method's name."""
        self._server.add_generic_rpc_handlers(handlers)

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, object]) -> None:
        """Leave out what generated code registers beside them."""


class ApiServer:
    """Our services on one address."""

    def __init__(
        self,
        settings: ServerSettings,
        retrieval: retrieval_service_pb2_grpc.RetrievalServiceServicer,
        answer: answer_service_pb2_grpc.AnswerServiceServicer,
        corpus: corpus_service_pb2_grpc.CorpusServiceServicer,
        admin: admin_service_pb2_grpc.AdminServiceServicer,
        evaluation: evaluation_service_pb2_grpc.EvaluationServiceServicer,
        metrics: Metrics,
    ) -> None:
        ignore_departed_callers()
        self._settings = settings
        self._health = health.aio.HealthServicer()
        self._server = grpc.aio.server(
            interceptors=[
                RpcInterceptor(
                    settings.max_concurrent_rpcs,
                    settings.max_waiting_rpcs,
                    settings.max_evaluations,
                    settings.reader_timeout_s,
                    settings.max_message_bytes,
                    metrics.rpc_ended,
                )
            ],
            options=[
                ("grpc.max_receive_message_length", settings.max_message_bytes),
                ("grpc.max_send_message_length", settings.max_message_bytes),
                # Two servers on one port would each get some of the calls.
                ("grpc.so_reuseport", 0),
                # A client whose machine vanished is noticed, and what it held is let go.
                ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
                ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
                ("grpc.http2.min_ping_interval_without_data_ms", _MIN_PING_INTERVAL_MS),
            ],
        )
        by_name = cast("grpc.aio.Server", _ByName(self._server))
        retrieval_service_pb2_grpc.add_RetrievalServiceServicer_to_server(retrieval, by_name)
        answer_service_pb2_grpc.add_AnswerServiceServicer_to_server(answer, by_name)
        corpus_service_pb2_grpc.add_CorpusServiceServicer_to_server(corpus, by_name)
        admin_service_pb2_grpc.add_AdminServiceServicer_to_server(admin, by_name)
        evaluation_service_pb2_grpc.add_EvaluationServiceServicer_to_server(evaluation, by_name)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, by_name)
        reflection.enable_server_reflection(
            (*_SERVICE_NAMES, reflection.SERVICE_NAME, health.SERVICE_NAME), self._server
        )

    async def start(self) -> str:
        """Listen and serve; return the address with the port that was bound. Raises RuntimeError when it is in use."""
        host = self._settings.listen.rpartition(":")[0]
        port = self._server.add_insecure_port(self._settings.listen)
        await self._server.start()
        for name in ("", *_SERVICE_NAMES):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        return f"{host}:{port}"

    async def stop(self) -> None:
        """Refuse new calls, give running ones the drain timeout, then end them."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(self._settings.drain_timeout_s)
