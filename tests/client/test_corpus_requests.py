"""What is asked of a corpus, as messages."""

import pytest

from client import InvalidRequest, PassageFilter
from client._corpus_requests import metadata_value, passage_filter


@pytest.mark.parametrize("field", ["include_paths", "exclude_paths", "languages", "contains"])
def test_one_text_in_place_of_several_is_not_taken_for_its_characters(field):
    with pytest.raises(InvalidRequest) as caught:
        passage_filter(PassageFilter(**{field: "python"}))
    assert [one.field for one in caught.value.field_violations] == [f"filter.{field}"]


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (False, "false")])
def test_a_truth_is_a_text_and_no_number(value, text):
    assert metadata_value(value, "metadata['draft']").text == text
