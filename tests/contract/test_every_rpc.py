"""Every RPC of the contract answers: it is served, or says in our own words that it is not."""

from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from groundwire.v1 import (
    admin_service_pb2,
    answer_service_pb2,
    corpus_service_pb2,
    evaluation_service_pb2,
    retrieval_service_pb2,
)
from tests.support.rpc import CALL_TIMEOUT_S, refusal_of

FILES = (
    admin_service_pb2,
    answer_service_pb2,
    corpus_service_pb2,
    evaluation_service_pb2,
    retrieval_service_pb2,
)
METHODS = [
    method for file in FILES for service in file.DESCRIPTOR.services_by_name.values() for method in service.methods
]
NEVER = {grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL, grpc.StatusCode.DEADLINE_EXCEEDED}


def call(channel: grpc.Channel, method: MethodDescriptor, requests: list[Any]) -> list[Any]:
    """All responses of one call, whatever its shape."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    coding = {
        "request_serializer": lambda message: message if isinstance(message, bytes) else message.SerializeToString(),
        "response_deserializer": GetMessageClass(method.output_type).FromString,
    }
    if method.client_streaming:
        return list(channel.stream_stream(path, **coding)(iter(requests), timeout=CALL_TIMEOUT_S))
    if method.server_streaming:
        return list(channel.unary_stream(path, **coding)(requests[0], timeout=CALL_TIMEOUT_S))
    return [channel.unary_unary(path, **coding)(requests[0], timeout=CALL_TIMEOUT_S)]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.full_name)
def test_an_empty_request_is_served_or_refused_with_a_reason(channel: grpc.Channel, method: MethodDescriptor) -> None:
    try:
        call(channel, method, [GetMessageClass(method.input_type)()])
    except grpc.RpcError as error:
        refusal = refusal_of(error)
        assert refusal.code not in NEVER, refusal
        assert refusal.reason not in {"", "UNSPECIFIED", "INTERNAL"}, refusal
        assert refusal.message, refusal
        if refusal.code is grpc.StatusCode.UNIMPLEMENTED:
            assert refusal.reason == "NOT_IMPLEMENTED"


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.full_name)
def test_bytes_that_are_no_message_are_refused_as_such(channel: grpc.Channel, method: MethodDescriptor) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        call(channel, method, [b"\xff\xff\xff\xff"])
    refusal = refusal_of(caught.value)
    assert (refusal.code, refusal.reason) in {
        (grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED_MESSAGE"),
        # What is not served does not look at its request.
        (grpc.StatusCode.UNIMPLEMENTED, "NOT_IMPLEMENTED"),
    }


def test_a_method_that_does_not_exist_is_unimplemented(channel: grpc.Channel) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/groundwire.v1.RetrievalService/Guess")(b"", timeout=CALL_TIMEOUT_S)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
