"""The boundary for what is asked: arguments to protobuf, with what protobuf cannot hold refused by name."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from client._answer_types import AnswerOptions
from client._passage_types import FusionOverrides
from client.errors import invalid_field
from groundwire.v1 import answer_pb2, answer_service_pb2, retrieval_service_pb2


@contextmanager
def building(field: str) -> Iterator[None]:
    """Turn what protobuf cannot hold (a number that is too large, text that is not Unicode) into InvalidRequest."""
    try:
        yield
    except UnicodeEncodeError:
        raise invalid_field(field, "holds bytes that are not UTF-8 text") from None
    except (ValueError, OverflowError) as error:
        raise invalid_field(field, f"cannot be sent: {error}") from None


def retrieve_request(
    query: str,
    *,
    collection: str,
    k: int | None,
    explain: bool,
    max_per_file: int | None,
    fusion: FusionOverrides | None,
) -> retrieval_service_pb2.RetrieveRequest:
    """Return the request for one query."""
    with building("query"):
        request = retrieval_service_pb2.RetrieveRequest(query=query, explain=explain)
    with building("collection"):
        request.collection = collection
    with building("k"):
        if k is not None:
            request.k = k
    with building("max_per_file"):
        if max_per_file is not None:
            request.max_per_file = max_per_file
    if fusion is not None:
        with building("fusion"):
            request.fusion.CopyFrom(
                retrieval_service_pb2.FusionOverrides(
                    lexical_weight=fusion.lexical_weight,
                    dense_weight=fusion.dense_weight,
                    rank_constant=fusion.rank_constant,
                    pool_count=fusion.pool_count,
                )
            )
    return request


def answer_options(options: AnswerOptions, *, timeout_s: float) -> answer_service_pb2.AnswerOptions:
    """Return the options of an answer; `timeout_s` is used when the options name no time of their own."""
    with building("options"):
        made = answer_service_pb2.AnswerOptions(
            max_completion_tokens=options.max_completion_tokens,
            max_prompt_tokens=options.max_prompt_tokens,
            answer_anyway=options.answer_anyway,
        )
        if options.mode is not None:
            made.mode = answer_pb2.AnswerMode.Value(f"ANSWER_MODE_{options.mode.name}")
        if options.fallback is not None:
            made.fallback = answer_pb2.AnswerFallback.Value(f"ANSWER_FALLBACK_{options.fallback.name}")
        if options.on_disconnect is not None:
            made.on_disconnect = answer_pb2.DisconnectPolicy.Value(f"DISCONNECT_POLICY_{options.on_disconnect.name}")
    with building("options.timeout"):
        made.timeout.FromNanoseconds(round((timeout_s if options.timeout_s is None else options.timeout_s) * 1e9))
    return made


def answer_request(
    query: str, collection: str, k: int | None, options: AnswerOptions, *, timeout_s: float, request_id: str | None
) -> answer_service_pb2.AnswerRequest:
    """Return the request for one answer."""
    retrieve = retrieve_request(query, collection=collection, k=k, explain=False, max_per_file=None, fusion=None)
    with building("request_id"):
        return answer_service_pb2.AnswerRequest(
            retrieve=retrieve,
            options=answer_options(options, timeout_s=timeout_s),
            # Always an id: a call that the transport repeats then finds its job and starts no second one.
            request_id=uuid.uuid4().hex if request_id is None else request_id,
        )
