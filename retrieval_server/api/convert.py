"""Between protobuf and the server's own nouns, checking what comes in."""

import unicodedata

from google.protobuf import duration_pb2

from groundwire.v1 import error_pb2, retrieval_service_pb2
from retrieval_server.api.convert_filter import passage_filter
from retrieval_server.corpus.catalog import checked_name
from retrieval_server.errors import FieldError, InvalidRequest, beyond_limit
from retrieval_server.model import (
    ContentKind,
    FusionOverrides,
    PassageFilter,
    Profile,
    RetrieveQuery,
    RetrieveResult,
    SecondHop,
    SkippedReason,
)
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
    SkippedReason.NOT_IN_PASSAGES: retrieval_service_pb2.ANSWER_SKIPPED_REASON_NOT_IN_PASSAGES,
}
_PROFILE_TO_PB = {
    Profile.AUTO: retrieval_service_pb2.RETRIEVAL_PROFILE_AUTO,
    Profile.PRECISE: retrieval_service_pb2.RETRIEVAL_PROFILE_PRECISE,
    Profile.EXPLORE: retrieval_service_pb2.RETRIEVAL_PROFILE_EXPLORE,
    Profile.SYMBOL: retrieval_service_pb2.RETRIEVAL_PROFILE_SYMBOL,
}
_PROFILE_FROM_PB: dict[int, Profile] = {
    retrieval_service_pb2.RETRIEVAL_PROFILE_UNSPECIFIED: Profile.AUTO,
    **{number: profile for profile, number in _PROFILE_TO_PB.items()},
}


def retrieve_query(
    request: retrieval_service_pb2.RetrieveRequest, settings: ServerSettings, field_prefix: str = ""
) -> RetrieveQuery:
    """Return the checked query. Raises InvalidRequest naming the fields."""
    return RetrieveQuery(
        query=checked_query(request.query, settings, f"{field_prefix}query"),
        collection=checked_name(request.collection, f"{field_prefix}collection"),
        k=_in_range(request.k if request.HasField("k") else _DEFAULT_K, 1, settings.max_k, f"{field_prefix}k"),
        profile=_profile(request.profile, f"{field_prefix}profile"),
        fusion=_fusion(request.fusion, f"{field_prefix}fusion."),
        filter=_filter(request, field_prefix),
        explain=request.explain,
        max_per_file=(
            _in_range(request.max_per_file, 1, _MAX_PER_FILE, f"{field_prefix}max_per_file")
            if request.HasField("max_per_file")
            else None
        ),
        hops=_in_range(request.hops, 1, _MAX_HOPS, f"{field_prefix}hops") if request.HasField("hops") else 1,
        balance=request.balance,
        rerank=request.rerank if request.HasField("rerank") else None,
    )


def retrieve_response(result: RetrieveResult) -> retrieval_service_pb2.RetrieveResponse:
    """Return the response for a result."""
    elapsed = duration_pb2.Duration()
    elapsed.FromMicroseconds(round(result.elapsed_s * 1e6))
    return retrieval_service_pb2.RetrieveResponse(
        passages=[passage_to_pb(passage) for passage in result.passages],
        index_generation=result.index_generation,
        vector_epoch=result.vector_epoch,
        dense_coverage=result.dense_coverage,
        answerability=result.answerability,
        answer_skipped_reason=skipped_reason_to_pb(result.skipped_reason),
        profile_used=profile_to_pb(result.profile_used),
        profile_explanation=result.profile_explanation,
        elapsed=elapsed,
        second_hop=_second_hop_to_pb(result.second_hop),
    )


def profile_to_pb(profile: Profile) -> retrieval_service_pb2.RetrievalProfile.ValueType:
    """Return the enum value."""
    return _PROFILE_TO_PB[profile]


def skipped_reason_to_pb(reason: SkippedReason | None) -> retrieval_service_pb2.AnswerSkippedReason.ValueType:
    """Return the enum value; None is unspecified."""
    return _SKIPPED_TO_PB[reason]


def checked_query(query: str, settings: ServerSettings, field: str) -> str:
    """Return a query that is neither blank nor too long. Raises InvalidRequest naming the field."""
    size_bytes = len(query.encode())
    if size_bytes > settings.max_query_bytes:
        description = f"{size_bytes:,} bytes, the limit is {settings.max_query_bytes:,}"
        raise beyond_limit(field, description, limit=settings.max_query_bytes, actual=size_bytes)
    if all(char.isspace() or unicodedata.category(char) in _CONTROL_CATEGORIES for char in query):
        raise InvalidRequest(FieldError(field, "must not be blank"), reason=error_pb2.ERROR_REASON_EMPTY_QUERY)
    return query


def _profile(number: int, field: str) -> Profile:
    profile = _PROFILE_FROM_PB.get(number)
    if profile is None:
        raise InvalidRequest(FieldError(field, f"{number} is no profile"))
    return profile


def _filter(request: retrieval_service_pb2.RetrieveRequest, field_prefix: str) -> PassageFilter:
    wanted = passage_filter(request.filter, f"{field_prefix}filter")
    sides = {kind is ContentKind.CODE for kind in wanted.kinds}
    if request.balance and len(sides) == 1:
        problem = "there is nothing to balance: filter.kinds leaves one side only"
        raise InvalidRequest(FieldError(f"{field_prefix}balance", problem))
    return wanted


def _fusion(overrides: retrieval_service_pb2.FusionOverrides, prefix: str) -> FusionOverrides:
    fusion = FusionOverrides(
        lexical_weight=_weight(overrides, "lexical_weight", prefix),
        dense_weight=_weight(overrides, "dense_weight", prefix),
        expanded_weight=_weight(overrides, "expanded_weight", prefix),
        margin_weight=_weight(overrides, "margin_weight", prefix),
        proximity_weight=_weight(overrides, "proximity_weight", prefix),
        path_weight=_weight(overrides, "path_weight", prefix),
        definition_weight=_weight(overrides, "definition_weight", prefix),
        rank_constant=(
            _in_range(overrides.rank_constant, 1, _MAX_RANK_CONSTANT, f"{prefix}rank_constant")
            if overrides.HasField("rank_constant")
            else None
        ),
        pool_count=(
            _in_range(overrides.pool_count, 1, _MAX_POOL_COUNT, f"{prefix}pool_count")
            if overrides.HasField("pool_count")
            else None
        ),
    )
    if fusion.lexical_weight == 0 and fusion.dense_weight == 0:
        raise InvalidRequest(FieldError(f"{prefix}lexical_weight", "must not be 0 when dense_weight is 0 too"))
    return fusion


def _weight(overrides: retrieval_service_pb2.FusionOverrides, name: str, prefix: str) -> float | None:
    if not overrides.HasField(name):  # type: ignore[arg-type]
        return None
    value: float = getattr(overrides, name)
    if not 0 <= value <= _MAX_WEIGHT:  # NaN too
        raise InvalidRequest(FieldError(prefix + name, f"{value} is not within 0 to {_MAX_WEIGHT:g}"))
    return value


def _in_range(value: int, lowest: int, highest: int, field: str) -> int:
    if not lowest <= value <= highest:
        raise InvalidRequest(FieldError(field, f"{value} is not within {lowest} to {highest}"))
    return value


def _second_hop_to_pb(asked: SecondHop | None) -> retrieval_service_pb2.SecondHop | None:
    if asked is None:
        return None
    return retrieval_service_pb2.SecondHop(query=asked.query, introduced_terms=asked.introduced_terms)
