"""Following one answer to its end, across lost connections."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

import grpc

from client import _convert
from client._answer_types import AnswerEvent, AnswerFinished, AnswerRetrieved
from client._rpc import Rpc
from client.errors import DeadlineExceeded, NotFound, ServerFault, Unavailable
from groundwire.v1 import answer_service_pb2, answer_service_pb2_grpc

# The server ends a job at its deadline and says so; the call itself must outlive that.
DEADLINE_GRACE_S = 10.0
# No job may take longer, so whoever attaches to one hears its end within this time.
MAX_ANSWER_S = 3600.0
# Long enough for a server to be started anew, which ends its streams and takes them up again.
_MAX_RECONNECT_COUNT = 9
_FIRST_BACKOFF_S = 0.2
_MOST_BACKOFF_S = 3.0

_EventCall = (
    grpc.aio.UnaryStreamCall[answer_service_pb2.StreamAnswerRequest, answer_service_pb2.StreamAnswerResponse]
    | grpc.aio.UnaryStreamCall[answer_service_pb2.AttachAnswerRequest, answer_service_pb2.AttachAnswerResponse]
)
StartRequest = answer_service_pb2.StreamAnswerRequest | answer_service_pb2.AttachAnswerRequest


async def follow_answer(rpc: Rpc, start: StartRequest, *, timeout_s: float) -> AsyncGenerator[AnswerEvent, None]:
    """Yield the events of an answer; the last one is its AnswerFinished.

    When the connection is lost after events have come, the same job is attached to again from the last event, so
    nothing is generated twice; a job that is not there any more is told as the loss of the connection.
    """
    deadline = time.monotonic() + timeout_s + DEADLINE_GRACE_S
    request_id, sequence = start.request_id, 0
    lost: Unavailable | None = None
    lost_count = 0
    request = start
    while True:
        try:
            async with aclosing(_one_stream(rpc, request, deadline - time.monotonic())) as events:
                async for event in events:
                    sequence, lost_count = event.sequence, 0
                    if isinstance(event, AnswerRetrieved):
                        request_id = event.request_id
                    yield event
                    if isinstance(event, AnswerFinished):
                        return
            raise ServerFault("the server ended the answer without its last event")
        except Unavailable as error:
            lost, lost_count = error, lost_count + 1
            if sequence == 0 or lost_count > _MAX_RECONNECT_COUNT:
                raise
        except NotFound:
            if lost is None:
                raise
            raise lost from None
        await asyncio.sleep(min(_MOST_BACKOFF_S, _FIRST_BACKOFF_S * 2 ** (lost_count - 1)))
        request = answer_service_pb2.AttachAnswerRequest(request_id=request_id, after_sequence=sequence)


async def _one_stream(rpc: Rpc, request: StartRequest, timeout_s: float) -> AsyncGenerator[AnswerEvent, None]:
    if timeout_s <= 0:
        raise DeadlineExceeded("the deadline passed before the answer was complete", status="DEADLINE_EXCEEDED")
    stub = answer_service_pb2_grpc.AnswerServiceStub(rpc.channel)
    with rpc.call() as metadata:
        call: _EventCall
        if isinstance(request, answer_service_pb2.StreamAnswerRequest):
            call = stub.StreamAnswer(request, timeout=timeout_s, metadata=metadata)
        else:
            call = stub.AttachAnswer(request, timeout=timeout_s, metadata=metadata)
        try:
            async for response in call:
                yield _convert.answer_event(response.event)
        finally:
            call.cancel()  # whoever stops listening early must not leave the server at work
