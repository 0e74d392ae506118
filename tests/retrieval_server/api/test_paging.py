"""Pages of names, and tokens that mean something in their own list alone."""

import base64

import pytest

from groundwire.v1 import collection_pb2, document_pb2, filter_pb2, snapshot_pb2
from retrieval_server.api.paging import Listing, page_of
from retrieval_server.errors import InvalidRequest
from retrieval_server.settings import ServerSettings

COLLECTIONS = Listing(collection_pb2.ListCollectionsRequest())
SETTINGS = ServerSettings(max_message_bytes=64 * 1024)


def page(names: list[str], page_size: int, token: str) -> tuple[list[str], str]:
    """Return a page of collections of these names, each with a problem of 10 kB, and the token of the next one."""

    def listed(name: str) -> collection_pb2.Collection:
        return collection_pb2.Collection(name=name, problem="x" * 10_000)

    found, token = page_of(names, page_size, token, COLLECTIONS, listed, SETTINGS)
    return [one.name for one in found], token


def test_pages_follow_each_other_and_end():
    names = ["a", "b", "c", "d", "e"]
    first, token = page(names, 2, "")
    second, token = page(names, 2, token)
    third, end = page(names, 2, token)
    assert [*first, *second, *third] == names
    assert end == ""


def test_a_name_that_goes_between_pages_loses_no_other():
    _, token = page(["a", "b", "c"], 2, "")
    assert page(["a", "c"], 2, token) == (["c"], "")


def test_a_page_ends_where_a_message_does():
    names = [f"{number:02}" for number in range(20)]
    pages, token = [], ""
    while True:
        found, token = page(names, 100, token)
        pages.append(found)
        if not token:
            break
    assert [len(found) for found in pages] == [6, 6, 6, 2]
    assert [name for found in pages for name in found] == names


def test_a_token_outlives_the_server_and_does_not_depend_on_the_size_of_pages():
    asked = document_pb2.ListDocumentsRequest(
        collection="c", filter=filter_pb2.PassageFilter(languages=["python"]), page_size=5
    )
    token = Listing(asked, 17).token("ä\0/\U0001f30a", "id")
    asked.page_size, asked.page_token = 9, token
    assert Listing(asked, 17).place(token) == ("ä\0/\U0001f30a", "id")


@pytest.mark.parametrize(
    "other",
    [
        Listing(document_pb2.ListDocumentsRequest(collection="other"), 17),
        Listing(document_pb2.ListDocumentsRequest(filter=filter_pb2.PassageFilter(languages=["python"])), 17),
        Listing(document_pb2.ListDocumentsRequest(), 18),
        Listing(snapshot_pb2.ListSnapshotsRequest(), 17),
    ],
    ids=["collection", "filter", "collection made anew", "call"],
)
def test_a_token_of_another_list_is_refused(other: Listing):
    with pytest.raises(InvalidRequest) as caught:
        other.place(Listing(document_pb2.ListDocumentsRequest(), 17).token("a", "b"))
    assert caught.value.field_errors[0].field == "page_token"


def test_every_token_that_was_tampered_with_is_refused():
    token = COLLECTIONS.token("name")
    raw = base64.urlsafe_b64decode(token)
    damaged = [raw[:i] + bytes([raw[i] ^ 1]) + raw[i + 1 :] for i in range(len(raw))]
    for bad in [*damaged, *(raw[:i] for i in range(1, len(raw))), raw + b"]"]:
        with pytest.raises(InvalidRequest):
            COLLECTIONS.place(base64.urlsafe_b64encode(bad).decode())


@pytest.mark.parametrize(
    ("page_size", "token", "field"),
    [(-1, "", "page_size"), (1, "%%%", "page_token"), (1, "é", "page_token"), (1, "YWJj", "page_token")],
)
def test_bad_pages_name_the_field(page_size: int, token: str, field: str):
    with pytest.raises(InvalidRequest) as caught:
        page([], page_size, token)
    assert caught.value.field_errors[0].field == field
