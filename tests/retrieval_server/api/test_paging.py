"""Pages of names."""

import pytest

from retrieval_server.api.paging import page_of
from retrieval_server.errors import InvalidRequest


def test_pages_follow_each_other_and_end():
    names = ["a", "b", "c", "d", "e"]
    first, token = page_of(names, 2, "")
    second, token = page_of(names, 2, token)
    third, end = page_of(names, 2, token)
    assert [*first, *second, *third] == names
    assert end == ""


def test_a_name_that_goes_between_pages_loses_no_other():
    _, token = page_of(["a", "b", "c"], 2, "")
    assert page_of(["a", "c"], 2, token) == (["c"], "")


@pytest.mark.parametrize(
    ("page_size", "token", "field"), [(-1, "", "page_size"), (1, "%%%", "page_token"), (1, "é", "page_token")]
)
def test_bad_pages_name_the_field(page_size: int, token: str, field: str):
    with pytest.raises(InvalidRequest) as caught:
        page_of([], page_size, token)
    assert caught.value.field_errors[0].field == field
