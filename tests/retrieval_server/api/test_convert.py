"""Protobuf in and out."""

import pytest
from google.protobuf import descriptor

from groundwire.v1 import error_pb2, filter_pb2, passage_pb2, retrieval_service_pb2
from retrieval_server.api.convert import retrieve_query
from retrieval_server.errors import InvalidRequest, NotServed
from retrieval_server.model import ContentKind, FusionConstants, ListScore, Passage, Prior
from retrieval_server.passage_message import passage_from_pb, passage_to_pb
from retrieval_server.settings import ServerSettings

SETTINGS = ServerSettings(max_query_bytes=100)
Request = retrieval_service_pb2.RetrieveRequest
Overrides = retrieval_service_pb2.FusionOverrides


def passage() -> Passage:
    return Passage(
        "id:1-5", "id", "data/a.py", 1, 5, 2, 3, "text", ("A", "f"), "python", ContentKind.CODE, 0.5,
        (ListScore("bm25", 1, 9.5, 0.25, ("lease",)),), (Prior("test_source", 0.8),),
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
    assert (query.collection, query.k, query.fusion, query.max_per_file) == ("default", 10, FusionConstants(), None)


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (Request(query="q", k=0), "k"),
        (Request(query="q", k=-1), "k"),
        (Request(query="q", k=10**9), "k"),
        (Request(query="q", max_per_file=0), "max_per_file"),
        (Request(query="q", hops=0), "hops"),
        (Request(query="q", hops=-5), "hops"),
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


@pytest.mark.parametrize(
    "request_",
    [
        Request(query="q", profile=retrieval_service_pb2.RETRIEVAL_PROFILE_SYMBOL),
        Request(query="q", filter=filter_pb2.PassageFilter(languages=["python"])),
        Request(query="q", hops=2),
        Request(query="q", balance=True),
    ],
)
def test_what_comes_later_is_not_silently_ignored(request_: Request):
    with pytest.raises(NotServed):
        retrieve_query(request_, SETTINGS)


@pytest.mark.parametrize("query", ["\U0001faea", "\ue000", "東", "🚀", "∑"])
def test_a_letter_that_this_python_does_not_know_is_no_blank(query: str):
    assert retrieve_query(Request(query=query), SETTINGS).query == query
