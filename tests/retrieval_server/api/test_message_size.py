"""What is too much for one response is cut into several."""

from pathlib import Path

import pytest

from groundwire.v1 import sync_pb2
from retrieval_server.api.message_size import fitting_parts
from retrieval_server.settings import ServerSettings

LIMIT_BYTES = 64 * 1024


@pytest.mark.parametrize(
    ("sizes_bytes", "expected"),
    [
        ([], []),
        ([10] * 7, [3, 3, 1]),
        ([30_000] * 5, [2, 2, 1]),
        ([100_000, 10, 100_000, 10, 10], [1, 1, 1, 2]),
    ],
)
def test_parts_are_as_large_as_they_may_be(tmp_path: Path, sizes_bytes: list[int], expected: list[int]):
    settings = ServerSettings(data_dir=tmp_path, max_message_bytes=LIMIT_BYTES)
    messages = [sync_pb2.SyncWanted(relative_paths=["d" * size]) for size in sizes_bytes]
    parts = list(fitting_parts(messages, settings, max_count=3))
    assert [len(part) for part in parts] == expected
    assert [one for part in parts for one in part] == messages
