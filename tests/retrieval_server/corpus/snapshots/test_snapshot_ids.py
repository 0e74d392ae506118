"""What the name of a snapshot's directory tells when nothing else does."""

import pytest

from retrieval_server.corpus.snapshots.snapshot_ids import new_id, newest_of

NAMES = ["c-20260101-000000-00000000", "c-20260101-000001-00000000", "c-d-20260101-000002-00000000", "c", "x y", ""]


@pytest.mark.parametrize(
    ("collection", "not_before_unix_ms", "expected"),
    [
        ("c", 0, NAMES[1]),
        ("c", 1_767_225_601_999, NAMES[1]),
        ("c", 1_767_225_602_000, None),
        ("c-d", 0, NAMES[2]),
        ("d", 0, None),
    ],
)
def test_the_newest_of_a_collection_is_told_by_name(collection: str, not_before_unix_ms: int, expected: str | None):
    assert newest_of(collection, NAMES, not_before_unix_ms=not_before_unix_ms) == expected


def test_a_new_id_is_understood():
    made = new_id("c-20260101-000000-00000000", 1_767_225_600_000)
    assert made.startswith("c-20260101-000000-00000000-20260101-000000-")
    assert newest_of("c-20260101-000000-00000000", [made], not_before_unix_ms=1_767_225_600_000) == made
    assert newest_of("c", [made]) is None
