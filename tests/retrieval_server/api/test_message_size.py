"""What is too much for one response is cut into several."""

from pathlib import Path

import pytest

from groundwire.v1 import document_pb2, sync_pb2
from retrieval_server.api.message_size import fitting_parts
from retrieval_server.settings import ServerSettings
from tests.retrieval_server.api.support import running_server
from tests.retrieval_server.api.sync_support import sync

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


async def test_an_original_comes_in_parts_that_fit(tmp_path: Path):
    content = b"alpha beta\n" * 9_000
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": content})
        asked = document_pb2.GetDocumentRequest(path="src/a.md")
        document_id = (await services.corpus.GetDocument(asked)).document.document_id
    async with running_server(tmp_path, max_message_bytes=LIMIT_BYTES) as services:
        call = services.corpus.GetOriginal(document_pb2.GetOriginalRequest(document_id=document_id))
        assert b"".join([response.data async for response in call]) == content
