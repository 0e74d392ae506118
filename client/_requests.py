"""The boundary for what is asked: arguments to protobuf, with what protobuf cannot hold refused by name."""

import uuid
from collections.abc import Sequence

from client._answer_types import AnswerOptions, ConversationTurn
from client._filter_types import PassageFilter
from client._message_fields import building
from client._passage_types import FusionOverrides, RetrievalProfile
from groundwire.v1 import answer_pb2, answer_service_pb2, retrieval_service_pb2


def retrieve_request(
    query: str,
    *,
    collection: str,
    k: int | None,
    explain: bool,
    max_per_file: int | None,
    fusion: FusionOverrides | None,
    profile: RetrievalProfile | None = None,
    filter: PassageFilter | None = None,  # noqa: A002  the field's name in the contract
    hops: int | None = None,
    balance: bool = False,
    rerank: bool | None = None,
) -> retrieval_service_pb2.RetrieveRequest:
    """Return the request for one query."""
    with building("query"):
        request = retrieval_service_pb2.RetrieveRequest(query=query, explain=explain, balance=balance)
    with building("collection"):
        request.collection = collection
    with building("k"):
        if k is not None:
            request.k = k
    with building("max_per_file"):
        if max_per_file is not None:
            request.max_per_file = max_per_file
    with building("profile"):
        if profile is not None:
            request.profile = retrieval_service_pb2.RetrievalProfile.Value(f"RETRIEVAL_PROFILE_{profile.name}")
    with building("hops"):
        if hops is not None:
            request.hops = hops
    with building("rerank"):
        if rerank is not None:
            request.rerank = rerank
    if filter is not None:
        from client._corpus_requests import passage_filter

        request.filter.CopyFrom(passage_filter(filter))
    if fusion is not None:
        with building("fusion"):
            request.fusion.CopyFrom(
                retrieval_service_pb2.FusionOverrides(
                    lexical_weight=fusion.lexical_weight,
                    dense_weight=fusion.dense_weight,
                    rank_constant=fusion.rank_constant,
                    pool_count=fusion.pool_count,
                    expanded_weight=fusion.expanded_weight,
                    margin_weight=fusion.margin_weight,
                    proximity_weight=fusion.proximity_weight,
                    path_weight=fusion.path_weight,
                    definition_weight=fusion.definition_weight,
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
            closed_book=options.closed_book,
            min_supported_share=options.min_supported_share,
            generate_anew=options.generate_anew,
            rewrite_question=options.rewrite_question,
            temperature=options.temperature,
            top_p=options.top_p,
            seed=options.seed,
            stops=options.stops,
        )
        if options.mode is not None:
            made.mode = answer_pb2.AnswerMode.Value(f"ANSWER_MODE_{options.mode.name}")
        if options.fallback is not None:
            made.fallback = answer_pb2.AnswerFallback.Value(f"ANSWER_FALLBACK_{options.fallback.name}")
        if options.on_disconnect is not None:
            made.on_disconnect = answer_pb2.DisconnectPolicy.Value(f"DISCONNECT_POLICY_{options.on_disconnect.name}")
        if options.priority is not None:
            made.priority = answer_pb2.AnswerPriority.Value(f"ANSWER_PRIORITY_{options.priority.name}")
        if options.condensing_method is not None:
            made.condensing_method = answer_pb2.CondensingMethod.Value(
                f"CONDENSING_METHOD_{options.condensing_method.name}"
            )
    if options.packing is not None:
        with building("options.packing"):
            made.packing.CopyFrom(
                answer_pb2.PackingOptions(
                    max_per_source=options.packing.max_per_source, focus_chars=options.packing.focus_chars
                )
            )
            if options.packing.order is not None:
                made.packing.order = answer_pb2.PackingOrder.Value(f"PACKING_ORDER_{options.packing.order.name}")
    with building("options.timeout"):
        made.timeout.FromNanoseconds(round((timeout_s if options.timeout_s is None else options.timeout_s) * 1e9))
    return made


def answer_request(
    query: str,
    collection: str,
    k: int | None,
    options: AnswerOptions,
    *,
    timeout_s: float,
    request_id: str | None,
    history: Sequence[ConversationTurn] = (),
) -> answer_service_pb2.AnswerRequest:
    """Return the request for one answer."""
    retrieve = retrieve_request(query, collection=collection, k=k, explain=False, max_per_file=None, fusion=None)
    with building("history"):
        turns = [answer_pb2.ConversationTurn(question=one.question, answer=one.answer) for one in history]
    with building("request_id"):
        return answer_service_pb2.AnswerRequest(
            retrieve=retrieve,
            options=answer_options(options, timeout_s=timeout_s),
            # Always an id: a call that the transport repeats then finds its job and starts no second one.
            request_id=uuid.uuid4().hex if request_id is None else request_id,
            history=turns,
        )
