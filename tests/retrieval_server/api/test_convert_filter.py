"""Filters from protobuf: what is malformed, unknown or contradictory names its field."""

from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf import timestamp_pb2

from groundwire.v1 import filter_pb2, passage_pb2
from retrieval_server.api.convert_filter import passage_filter
from retrieval_server.errors import InvalidRequest
from retrieval_server.model import EVERYTHING, ContentKind, MetadataCondition, PassageFilter

Filter = filter_pb2.PassageFilter
Condition = filter_pb2.MetadataCondition
Range = filter_pb2.NumberRange
NAN = float("nan")


def at(year: int) -> timestamp_pb2.Timestamp:
    stamp = timestamp_pb2.Timestamp()
    stamp.FromDatetime(datetime(year, 1, 1, tzinfo=UTC))
    return stamp


def test_every_field_crosses():
    times = filter_pb2.TimeRange(max=at(2024))
    message = Filter(
        include_paths=["src/**"],
        exclude_paths=["**/tests/*.py"],
        languages=["Python"],
        kinds=[passage_pb2.CONTENT_KIND_CODE],
        contains=["TODO"],
        metadata=[
            Condition(key="a", equals="x"),
            Condition(key="b", range=Range(min=1)),
            Condition(key="c", time_range=times),
        ],
    )
    assert len(message.ListFields()) == len(Filter.DESCRIPTOR.fields)
    assert passage_filter(message) == PassageFilter(
        include_paths=("src/**",),
        exclude_paths=("**/tests/*.py",),
        languages=frozenset({"python"}),
        kinds=frozenset({ContentKind.CODE}),
        contains=("TODO",),
        metadata=(
            MetadataCondition("a", equals="x"),
            MetadataCondition("b", numbers=(1, None)),
            MetadataCondition("c", times=(None, datetime(2024, 1, 1, tzinfo=UTC))),
        ),
    )
    assert passage_filter(Filter()) is EVERYTHING


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (Filter(include_paths=["docs/["]), "include_paths"),
        (Filter(include_paths=[""]), "include_paths"),
        (Filter(exclude_paths=["**.py"]), "exclude_paths"),
        (Filter(exclude_paths=["a"] * 65), "exclude_paths"),
        (Filter(languages=[""]), "languages"),
        (Filter(kinds=[passage_pb2.CONTENT_KIND_UNSPECIFIED]), "kinds"),
        (Filter(kinds=[9]), "kinds"),  # type: ignore[list-item]
        (Filter(contains=[""]), "contains"),
        (Filter(contains=["x" * 1025]), "contains"),
        (Filter(metadata=[Condition(key="k", equals="v"), Condition(equals="x")]), "metadata[1].key"),
        (Filter(metadata=[Condition(key="k" * 129, equals="x")]), "metadata[0].key"),
        (Filter(metadata=[Condition(key="k")]), "metadata[0]"),
        (Filter(metadata=[Condition(key="k", range=Range())]), "metadata[0].range"),
        (Filter(metadata=[Condition(key="k", range=Range(min=NAN))]), "metadata[0].range.min"),
        (Filter(metadata=[Condition(key="k", range=Range(min=2, max=1))]), "metadata[0].range.min"),
        (
            Filter(metadata=[Condition(key="k", time_range=filter_pb2.TimeRange(min=at(2025), max=at(2024)))]),
            "metadata[0].time_range.min",
        ),
        (
            Filter(metadata=[Condition(key="k", time_range=filter_pb2.TimeRange(min={"seconds": 10**15}))]),
            "metadata[0].time_range.min",
        ),
    ],
)
def test_what_is_malformed_names_its_field(message: Filter, field: str):
    with pytest.raises(InvalidRequest) as caught:
        passage_filter(message, "item.retrieve.filter")
    assert [one.field for one in caught.value.field_errors] == [f"item.retrieve.filter.{field}"]


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (Filter(exclude_paths=["**"]), "exclude_paths"),
        (Filter(include_paths=["a/*"], exclude_paths=["b/*", "a/*"]), "exclude_paths"),
        (
            Filter(metadata=[Condition(key="k", range=Range(max=1)), Condition(key="k", range=Range(min=2))]),
            "metadata[1]",
        ),
        (Filter(metadata=[Condition(key="k", equals="x"), Condition(key="k", range=Range(min=2))]), "metadata[1]"),
        (Filter(metadata=[Condition(key="k", equals="1"), Condition(key="k", range=Range(min=2))]), "metadata[1]"),
    ],
)
def test_what_contradicts_itself_names_its_field(message: Filter, field: str):
    with pytest.raises(InvalidRequest) as caught:
        passage_filter(message)
    assert [one.field for one in caught.value.field_errors] == [f"filter.{field}"]


@pytest.mark.parametrize(
    "conditions",
    [
        [Condition(key="tags", equals="a"), Condition(key="tags", equals="b")],
        [Condition(key="n", range=Range(max=5)), Condition(key="n", range=Range(min=2))],
        [Condition(key="n", equals="3"), Condition(key="n", range=Range(min=2))],
        [Condition(key="n", range=Range(max=1)), Condition(key="m", range=Range(min=2))],
    ],
)
def test_conditions_that_a_document_can_meet_together_stand(conditions: list[Any]):
    assert len(passage_filter(Filter(metadata=conditions)).metadata) == len(conditions)


def test_a_condition_of_a_newer_contract_is_not_dropped():
    newer = b"\xba\x3e\x01x"  # field 999, a text
    for data, field in ((newer, "filter"), (b"\x32" + bytes([len(newer)]) + newer, "filter.metadata[0]")):
        with pytest.raises(InvalidRequest) as caught:
            passage_filter(Filter.FromString(data))
        assert [one.field for one in caught.value.field_errors] == [field]
