"""An index run from beginning to end: look at the disk, offer, send, sum up."""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from client._corpus_types import SyncedFile, SyncFileOutcome, SyncPhase, SyncProgress, SyncSummary
from client._ignore import PathFilter
from client._rpc import Rpc
from client._upload import sync_begin, upload
from client._walk import Scan, find_root, scan
from client.errors import invalid_field


async def index_tree(
    rpc: Rpc,
    path: str,
    *,
    collection: str,
    source: str | None,
    max_chunk_size_chars: int | None,
    path_filter: PathFilter,
    prune: bool,
    dry_run: bool,
    on_progress: Callable[[SyncProgress], None],
) -> SyncSummary:
    """Bring a collection up to date with the tree or file at `path`; the parameters are those of `AsyncClient.index`.

    The disk is read before the call begins, since only then is it known whether pruning is safe: what lies in a folder
    that cannot be read has not vanished.
    """
    started = time.monotonic()
    root = find_root(path, source)
    if prune and root.only_file is not None:
        raise invalid_field("prune", "needs a folder: a single file says nothing about the others")
    stopped = threading.Event()

    def look() -> Scan:
        return scan(
            root,
            path_filter,
            stopped=stopped,
            on_count=lambda count: on_progress(SyncProgress(SyncPhase.SCANNING, count, 0)),
        )

    try:
        found = await asyncio.to_thread(look)
    finally:
        stopped.set()  # a thread cannot be cancelled, so it is asked to stop
    withheld = prune and any(one.unreadable for one in found.skipped)
    begin = sync_begin(
        root,
        collection=collection,
        max_chunk_size_chars=max_chunk_size_chars,
        prune=prune and not withheld,
        dry_run=dry_run,
    )
    summary, files = await upload(rpc, begin, found, on_progress=on_progress)
    skipped = [SyncedFile(one.relative_path, SyncFileOutcome.SKIPPED, one.reason) for one in found.skipped]
    return replace(
        summary,
        skipped_count=summary.skipped_count + len(skipped),
        elapsed_s=time.monotonic() - started,
        files=tuple(sorted([*files, *skipped], key=lambda one: one.relative_path)),
        prune_withheld=withheld,
    )
