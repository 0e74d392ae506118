"""The server's services in this process, without a model and without a queue, on a free port."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from groundwire.v1 import (
    admin_service_pb2_grpc,
    answer_service_pb2_grpc,
    corpus_service_pb2_grpc,
    evaluation_service_pb2_grpc,
    retrieval_service_pb2_grpc,
)
from retrieval_server.api.corpus_servicer import CorpusServicer
from retrieval_server.api.evaluation_servicer import EvaluationServicer
from retrieval_server.api.retrieval_servicer import RetrievalServicer
from retrieval_server.api.server import ApiServer
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.searching.searching import Searching
from retrieval_server.corpus.snapshotting import Snapshotting
from retrieval_server.metrics import Metrics
from retrieval_server.settings import ServerSettings
from tests.retrieval_server.corpus.support import WordHashEncoder

CHANNEL_OPTIONS = [
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_send_message_length", -1),
    # Otherwise what is sent ahead of a reader grows with the speed of the machine.
    ("grpc.http2.bdp_probe", 0),
]
MAX_MESSAGE_BYTES = 8 * 1024 * 1024


@dataclass
class Services:
    """Stubs of a running server."""

    channel: grpc.aio.Channel
    retrieval: Any
    corpus: Any
    catalog: Catalog
    evaluation: Any


@asynccontextmanager
async def running_server(
    data_dir: Path, wrap_retrieval: Callable[[Any], Any] = lambda servicer: servicer, **settings: Any
) -> AsyncIterator[Services]:
    """Serve from `data_dir`; `wrap_retrieval` may replace the retrieval servicer."""
    config = ServerSettings(listen="127.0.0.1:0", data_dir=data_dir, drain_timeout_s=0, **settings)
    encoder = WordHashEncoder()
    catalog = Catalog(data_dir, encoder)
    await catalog.open_all()
    searching = Searching(catalog, encoder, remembers=True)
    server = ApiServer(
        config,
        wrap_retrieval(RetrievalServicer(searching, config)),
        answer_service_pb2_grpc.AnswerServiceServicer(),
        CorpusServicer(catalog, Snapshotting(catalog, data_dir / "snapshots"), "word-hash", config),
        admin_service_pb2_grpc.AdminServiceServicer(),
        EvaluationServicer(catalog, searching, config),
        Metrics(),
    )
    address = await server.start()
    async with grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS) as channel:
        yield Services(
            channel,
            retrieval_service_pb2_grpc.RetrievalServiceStub(channel),
            corpus_service_pb2_grpc.CorpusServiceStub(channel),
            catalog,
            evaluation_service_pb2_grpc.EvaluationServiceStub(channel),
        )
    await server.stop()
    searching.close()
    await catalog.close()


def details(error: grpc.aio.AioRpcError) -> dict[str, Any]:
    """Return the rich details in an error's trailers, by message name."""
    found: dict[str, Any] = {}
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for packed in status_pb2.Status.FromString(value).details:
                for kind in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest, error_details_pb2.RetryInfo):
                    if packed.Is(kind.DESCRIPTOR):
                        message = kind()
                        packed.Unpack(message)
                        found[kind.DESCRIPTOR.name] = message
    return found


async def refused_field(call: Any) -> str:
    """Await a call, which must be refused for one field; its name."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    (violation,) = details(caught.value)["BadRequest"].field_violations
    return str(violation.field)
