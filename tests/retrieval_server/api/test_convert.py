"""Protobuf in and out."""

import pytest
from google.protobuf import descriptor

from groundwire.v1 import error_pb2, filter_pb2, passage_pb2, retrieval_service_pb2
from retrieval_server.api.convert import retrieve_query, retrieve_response
from retrieval_server.errors import InvalidRequest
from retrieval_server.model import (
    EVERYTHING,
    ContentKind,
    FusionConstants,
    FusionOverrides,
    ListScore,
    Passage,
    PassageFilter,
    Prior,
    Profile,
    RetrieveQuery,
    RetrieveResult,
    SecondHop,
)
from retrieval_server.passage_message import passage_from_pb, passage_to_pb
from retrieval_server.settings import ServerSettings

SETTINGS = ServerSettings(max_query_bytes=100)
Request = retrieval_service_pb2.RetrieveRequest
Overrides = retrieval_service_pb2.FusionOverrides


def passage() -> Passage:
    return Passage(
        "id:1-5", "id", "data/a.py", 1, 5, 2, 3, "text", ("A", "f"), "python", ContentKind.CODE, 0.5,
        (ListScore("bm25", 1, 9.5, 0.25, ("lease",)),), (Prior("test_source", 0.8),), 2, is_derived=True,
        origin_text="['text']",
    )  # fmt: skip


def test_every_field_of_a_passage_crosses_both_ways():
    message = passage_to_pb(passage())
    empty = [
        field.name
        for field in passage_pb2.Passage.DESCRIPTOR.fields
        if not (len(getattr(message, field.name)) if field.is_repeated else getattr(message, field.name))
    ]
    assert empty == []
    assert passage_from_pb(message) == passage()
    assert isinstance(message.DESCRIPTOR, descriptor.Descriptor)


def test_defaults():
    query = retrieve_query(Request(query="q"), SETTINGS)
    assert query == RetrieveQuery("q", "default", 10, Profile.AUTO, FusionOverrides(), EVERYTHING)
    assert (query.max_per_file, query.hops, query.balance, query.rerank) == (None, 1, False, None)


def test_what_a_request_sets_goes_over_the_constants_of_its_profile():
    fusion = retrieve_query(Request(query="q", fusion=Overrides(dense_weight=0, pool_count=7)), SETTINGS).fusion
    constants = fusion.over(FusionConstants(lexical_weight=9, dense_weight=4, rank_constant=2, pool_count=5))
    assert constants == FusionConstants(lexical_weight=9, dense_weight=0, rank_constant=2, pool_count=7)


def test_what_a_request_asks_for_reaches_the_search():
    request = Request(
        query="q",
        hops=2,
        balance=True,
        max_per_file=3,
        rerank=False,
        filter=filter_pb2.PassageFilter(languages=["Python"]),
    )
    query = retrieve_query(request, SETTINGS)
    assert (query.hops, query.balance, query.max_per_file, query.rerank) == (2, True, 3, False)
    assert query.filter == PassageFilter(languages=frozenset({"python"}))


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (Request(query="q", k=0), "k"),
        (Request(query="q", k=-1), "k"),
        (Request(query="q", k=10**9), "k"),
        (Request(query="q", max_per_file=0), "max_per_file"),
        (Request(query="q", hops=0), "hops"),
        (Request(query="q", hops=-5), "hops"),
        (Request(query="q", hops=3), "hops"),
        (Request(query="q", max_per_file=1001), "max_per_file"),
        (Request(query="q", balance=True, filter=filter_pb2.PassageFilter(kinds=[1])), "balance"),  # type: ignore[list-item]
        (Request(query="q", filter=filter_pb2.PassageFilter(include_paths=["a["])), "filter.include_paths"),
        (Request(query="q", fusion=Overrides(expanded_weight=101)), "fusion.expanded_weight"),
        (Request(query="q", profile=77), "profile"),  # type: ignore[arg-type]
        (Request(query="q", collection="No Such!"), "collection"),
        (Request(query="q", fusion=Overrides(lexical_weight=-1)), "fusion.lexical_weight"),
        (Request(query="q", fusion=Overrides(dense_weight=float("nan"))), "fusion.dense_weight"),
        (Request(query="q", fusion=Overrides(lexical_weight=0, dense_weight=0)), "fusion.lexical_weight"),
        (Request(query="q", fusion=Overrides(rank_constant=0)), "fusion.rank_constant"),
        (Request(query="q", fusion=Overrides(pool_count=0)), "fusion.pool_count"),
    ],
)
def test_what_is_never_valid_names_its_field(request_: Request, field: str):
    with pytest.raises(InvalidRequest) as caught:
        retrieve_query(request_, SETTINGS, "item.retrieve.")
    assert [e.field for e in caught.value.field_errors] == [f"item.retrieve.{field}"]


@pytest.mark.parametrize("query", ["", "  \n\t", "\0", "\u200b\u2060", "\x01\x02 "])
def test_a_blank_query_has_a_reason_of_its_own(query: str):
    with pytest.raises(InvalidRequest) as caught:
        retrieve_query(Request(query=query), SETTINGS)
    assert caught.value.reason == error_pb2.ERROR_REASON_EMPTY_QUERY


def test_a_long_query_is_refused_with_its_size():
    with pytest.raises(InvalidRequest) as caught:
        retrieve_query(Request(query="é" * 51), SETTINGS)
    assert caught.value.metadata == {"limit": "100", "actual": "102"}


@pytest.mark.parametrize("name", ["PRECISE", "EXPLORE", "SYMBOL", "AUTO"])
def test_a_profile_reaches_the_search_and_its_name_the_response(name: str):
    number = retrieval_service_pb2.RetrievalProfile.Value(f"RETRIEVAL_PROFILE_{name}")
    assert retrieve_query(Request(query="q", profile=number), SETTINGS).profile is Profile[name]
    result = RetrieveResult((), 1, 1, 1.0, 0.0, None, 0.0, Profile[name], "because", SecondHop("b p", ("b",)))
    response = retrieve_response(result)
    assert (response.profile_used, response.profile_explanation) == (number, "because")
    assert (response.second_hop.query, list(response.second_hop.introduced_terms)) == ("b p", ["b"])


@pytest.mark.parametrize("query", ["\U0001faea", "\ue000", "東", "🚀", "∑"])
def test_a_letter_that_this_python_does_not_know_is_no_blank(query: str):
    assert retrieve_query(Request(query=query), SETTINGS).query == query
