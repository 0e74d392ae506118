"""Calls over the wire: stubs on a channel, and what a refused call says to a program."""

from collections.abc import Callable
from dataclasses import dataclass

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from groundwire.v1 import (
    collection_pb2,
    corpus_service_pb2_grpc,
    document_pb2,
    retrieval_service_pb2,
    retrieval_service_pb2_grpc,
)
from tests.support.deadline import wait_until

CALL_TIMEOUT_S = 60.0
VECTORS_TIMEOUT_S = 90.0


@dataclass(frozen=True)
class Refusal:
    """A failed call: status, reason, what varies, and the wrong fields by name."""

    code: grpc.StatusCode
    message: str
    reason: str
    metadata: dict[str, str]
    fields: dict[str, str]
    retry_after_s: float | None


def refusal_of(error: grpc.RpcError) -> Refusal:
    """What the trailers of a failed call say; AssertionError when they carry no ErrorInfo of ours."""
    status = rpc_status.from_call(error)
    assert status is not None, f"no details in the trailers: {error}"
    info, bad, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
    retry_after_s = None
    for detail in status.details:
        detail.Unpack(info)
        detail.Unpack(bad)
        if detail.Unpack(retry):
            retry_after_s = retry.retry_delay.ToTimedelta().total_seconds()
    assert info.domain == "groundwire", f"no ErrorInfo in {status}"
    return Refusal(
        code=error.code(),
        message=error.details(),
        reason=info.reason,
        metadata=dict(info.metadata),
        fields={violation.field: violation.description for violation in bad.field_violations},
        retry_after_s=retry_after_s,
    )


def refused(call: Callable[[], object]) -> Refusal:
    """Make the call, which must fail with details of ours."""
    try:
        outcome = call()
    except grpc.RpcError as error:
        return refusal_of(error)
    raise AssertionError(f"the call succeeded: {str(outcome)[:500]}")


def retrieve(
    channel: grpc.Channel, query: str, *, collection: str, k: int | None = None, explain: bool = False
) -> retrieval_service_pb2.RetrieveResponse:
    """Retrieve with a finite deadline."""
    request = retrieval_service_pb2.RetrieveRequest(collection=collection, query=query, k=k, explain=explain)
    return retrieval_service_pb2_grpc.RetrievalServiceStub(channel).Retrieve(request, timeout=CALL_TIMEOUT_S)


def corpus_stats(channel: grpc.Channel, collection: str) -> collection_pb2.GetCorpusStatsResponse:
    """The counts of a collection."""
    request = collection_pb2.GetCorpusStatsRequest(collection=collection)
    return corpus_service_pb2_grpc.CorpusServiceStub(channel).GetCorpusStats(request, timeout=CALL_TIMEOUT_S)


def wait_for_vectors(channel: grpc.Channel, collection: str) -> None:
    """Return when every embeddable chunk has its vectors and no deleted one weighs on scores."""

    def is_settled() -> bool:
        stats = corpus_stats(channel, collection).stats
        return stats.dense_coverage >= 1 and stats.stale_chunk_count == 0

    wait_until(
        is_settled,
        timeout_s=VECTORS_TIMEOUT_S,
        what=f"vectors of {collection} complete",
    )


def document_text(channel: grpc.Channel, collection: str, path: str) -> str:
    """The stored text of a document, by display path."""
    request = document_pb2.GetDocumentRequest(collection=collection, path=path, include_text=True)
    stub = corpus_service_pb2_grpc.CorpusServiceStub(channel)
    return stub.GetDocument(request, timeout=CALL_TIMEOUT_S).document.text
