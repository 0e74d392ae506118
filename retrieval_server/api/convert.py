"""Between protobuf and the server's own nouns, checking what comes in."""

import unicodedata

from google.protobuf import duration_pb2

from groundwire.v1 import error_pb2, retrieval_service_pb2
from retrieval_server.corpus.catalog import checked_name
from retrieval_server.errors import FieldError, InvalidRequest, NotServed
from retrieval_server.model import FusionConstants, RetrieveQuery, RetrieveResult, SkippedReason
from retrieval_server.passage_message import passage_to_pb
from retrieval_server.settings import ServerSettings

_DEFAULT_K = 10
_MAX_WEIGHT = 100.0
_MAX_RANK_CONSTANT = 1000
_MAX_POOL_COUNT = 1000
_MAX_PER_FILE = 1000
_MAX_HOPS = 2
# Control and format characters, such as a zero-width space.
_CONTROL_CATEGORIES = frozenset({"Cc", "Cf"})

_SKIPPED_TO_PB = {
    None: retrieval_service_pb2.ANSWER_SKIPPED_REASON_UNSPECIFIED,
    SkippedReason.NO_PASSAGES: retrieval_service_pb2.ANSWER_SKIPPED_REASON_NO_PASSAGES,
    SkippedReason.LOW_RELEVANCE: retrieval_service_pb2.ANSWER_SKIPPED_REASON_LOW_RELEVANCE,
}
_NAMED_PROFILES = frozenset({retrieval_service_pb2.RETRIEVAL_PROFILE_PRECISE})
_SERVED_PROFILES = frozenset(
    {
        retrieval_service_pb2.RETRIEVAL_PROFILE_UNSPECIFIED,
        retrieval_service_pb2.RETRIEVAL_PROFILE_AUTO,
        retrieval_service_pb2.RETRIEVAL_PROFILE_PRECISE,
    }
)


def retrieve_query(
    request: retrieval_service_pb2.RetrieveRequest, settings: ServerSettings, field_prefix: str = ""
) -> RetrieveQuery:
    """Return the checked query. Raises InvalidRequest naming the fields, NotServed for what comes later."""
    _refuse_unserved(request, field_prefix)
    return RetrieveQuery(
        query=_checked_query(request.query, settings, f"{field_prefix}query"),
        collection=checked_name(request.collection, f"{field_prefix}collection"),
        k=_in_range(request.k if request.HasField("k") else _DEFAULT_K, 1, settings.max_k, f"{field_prefix}k"),
        fusion=_fusion(request.fusion, f"{field_prefix}fusion."),
        explain=request.explain,
        max_per_file=(
            _in_range(request.max_per_file, 1, _MAX_PER_FILE, f"{field_prefix}max_per_file")
            if request.HasField("max_per_file")
            else None
        ),
    )


def retrieve_response(
    result: RetrieveResult, profile: retrieval_service_pb2.RetrievalProfile.ValueType
) -> retrieval_service_pb2.RetrieveResponse:
    """Return the response for a result of a request that named `profile`."""
    elapsed = duration_pb2.Duration()
    elapsed.FromMicroseconds(round(result.elapsed_s * 1e6))
    return retrieval_service_pb2.RetrieveResponse(
        passages=[passage_to_pb(passage) for passage in result.passages],
        index_generation=result.index_generation,
        vector_epoch=result.vector_epoch,
        dense_coverage=result.dense_coverage,
        answerability=result.answerability,
        answer_skipped_reason=skipped_reason_to_pb(result.skipped_reason),
        profile_used=retrieval_service_pb2.RETRIEVAL_PROFILE_PRECISE,
        profile_explanation="" if profile in _NAMED_PROFILES else "the only profile that this version serves",
        elapsed=elapsed,
    )


def skipped_reason_to_pb(reason: SkippedReason | None) -> retrieval_service_pb2.AnswerSkippedReason.ValueType:
    """Return the enum value; None is unspecified."""
    return _SKIPPED_TO_PB[reason]


def _checked_query(query: str, settings: ServerSettings, field: str) -> str:
    size_bytes = len(query.encode())
    if size_bytes > settings.max_query_bytes:
        raise InvalidRequest(
            FieldError(field, f"{size_bytes:,} bytes, the limit is {settings.max_query_bytes:,}"),
            reason=error_pb2.ERROR_REASON_LIMIT_EXCEEDED,
            metadata={"limit": str(settings.max_query_bytes), "actual": str(size_bytes)},
        )
    if all(char.isspace() or unicodedata.category(char) in _CONTROL_CATEGORIES for char in query):
        raise InvalidRequest(FieldError(field, "must not be blank"), reason=error_pb2.ERROR_REASON_EMPTY_QUERY)
    return query


def _fusion(overrides: retrieval_service_pb2.FusionOverrides, prefix: str) -> FusionConstants:
    defaults = FusionConstants()
    fusion = FusionConstants(
        lexical_weight=_weight(overrides, "lexical_weight", defaults.lexical_weight, prefix),
        dense_weight=_weight(overrides, "dense_weight", defaults.dense_weight, prefix),
        rank_constant=(
            _in_range(overrides.rank_constant, 1, _MAX_RANK_CONSTANT, f"{prefix}rank_constant")
            if overrides.HasField("rank_constant")
            else defaults.rank_constant
        ),
        pool_count=(
            _in_range(overrides.pool_count, 1, _MAX_POOL_COUNT, f"{prefix}pool_count")
            if overrides.HasField("pool_count")
            else defaults.pool_count
        ),
    )
    if fusion.lexical_weight == 0 and fusion.dense_weight == 0:
        raise InvalidRequest(FieldError(f"{prefix}lexical_weight", "not both weights may be 0"))
    return fusion


def _weight(overrides: retrieval_service_pb2.FusionOverrides, name: str, default: float, prefix: str) -> float:
    value: float = getattr(overrides, name) if overrides.HasField(name) else default  # type: ignore[arg-type]
    if not 0 <= value <= _MAX_WEIGHT:  # NaN too
        raise InvalidRequest(FieldError(prefix + name, f"{value} is not within 0 to {_MAX_WEIGHT:g}"))
    return value


def _in_range(value: int, lowest: int, highest: int, field: str) -> int:
    if not lowest <= value <= highest:
        raise InvalidRequest(FieldError(field, f"{value} is not within {lowest} to {highest}"))
    return value


def _refuse_unserved(request: retrieval_service_pb2.RetrieveRequest, field_prefix: str) -> None:
    if request.profile not in retrieval_service_pb2.RetrievalProfile.values():
        raise InvalidRequest(FieldError(f"{field_prefix}profile", f"{request.profile} is no profile"))
    if request.profile not in _SERVED_PROFILES:
        raise NotServed("the profile")
    if request.HasField("filter") and request.filter.ByteSize():
        raise NotServed("filter")
    if request.HasField("hops") and not 1 <= request.hops <= _MAX_HOPS:
        raise InvalidRequest(FieldError(f"{field_prefix}hops", f"{request.hops} is not within 1 to {_MAX_HOPS}"))
    if request.HasField("hops") and request.hops != 1:
        raise NotServed("hops other than 1")
    if request.balance:
        raise NotServed("balance")
