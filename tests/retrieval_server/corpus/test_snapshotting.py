"""Snapshots are made, restored and removed to the end, whether or not anybody still waits."""

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest

from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.snapshotting import Snapshotting


async def test_what_fails_when_its_caller_has_left_is_no_error_of_the_server(tmp_path: Path):
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    snapshotting = Snapshotting(Catalog(tmp_path, None), tmp_path / "snapshots")
    for call in (snapshotting.restore, snapshotting.remove):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await call("unknown")
    gc.collect()
    assert told == []
