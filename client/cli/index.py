"""client index: bring a collection up to date with a tree."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import os
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

import client
from client.cli.invocation import Invocation, collection_option, shared_options
from client.cli.output import counted, note, print_json, printable, printable_name, progress_bar
from client.cli.settling import wait_for_vectors
from client.cli.watch import keep_indexed

if TYPE_CHECKING:
    from tqdm import tqdm

_DEFAULT_PATH = "data/raw"
_TOLD_SHARED_FILES = 3


@click.command("index", short_help="Index a folder or a file.")
@click.argument("path", required=False)
@collection_option
@click.option("--source", metavar="NAME", help="Key of the root on the server.  [default: its absolute path]")
@click.option("--max-chunk-size", type=int, metavar="N", help="Largest passage in characters.  [default: 2000]")
@click.option("--include", multiple=True, metavar="GLOB", help="Only files that match; as in .gitignore. Repeatable.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="No files that match; as in .gitignore. Repeatable.")
@click.option("--prune", is_flag=True, help="Remove what an earlier run indexed and is not there any more.")
@click.option("--dry-run", is_flag=True, help="Show what would be done and change nothing.")
@click.option("--wait", is_flag=True, help="Return only when all vectors are computed, too.")
@click.option("--watch", is_flag=True, help="Go on, and index again whenever something changes, until Ctrl-C.")
@click.option("--files", "tell_files", is_flag=True, help="Say of each file that is not unchanged what became of it.")
@shared_options
def index_command(
    invocation: Invocation,
    path: str | None,
    *,
    collection: str,
    source: str | None,
    max_chunk_size: int | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    prune: bool,
    dry_run: bool,
    wait: bool,
    watch: bool,
    tell_files: bool,
) -> None:
    """Index the folder or file PATH, by default data/raw.

    What .gitignore files name, version control's own folders and well-known caches are left out. Returns as soon as all
    is searchable by its words; vectors are computed after that (--wait waits for them).
    """
    if path is None:
        if not os.path.isdir(_DEFAULT_PATH):
            raise click.UsageError(f"missing PATH: there is no {_DEFAULT_PATH} here, so name a folder or a file")
        path = _DEFAULT_PATH
    if watch and dry_run:
        raise click.UsageError("--watch and --dry-run exclude each other")

    def index_once(*, is_first: bool = True) -> None:
        bars = _Bars()
        try:
            summary = server.index(
                path,
                collection=collection,
                source=source,
                max_chunk_size_chars=max_chunk_size,
                include=include,
                exclude=exclude,
                prune=prune,
                dry_run=dry_run,
                on_progress=bars.show,
            )
        finally:
            bars.close()
        if not is_first and not _has_changes(summary):
            return
        if not invocation.as_json:
            _tell(summary, dry_run=dry_run, tell_files=tell_files)
        stats = wait_for_vectors(server, collection) if wait and not dry_run else None
        if invocation.as_json:
            print_json({"summary": summary, "stats": stats})
        elif stats is not None:
            click.echo(f"vectors: complete, {stats.embedded_chunk_count:,} of {stats.embeddable_chunk_count:,}")
        elif summary.dense_coverage < 1 and not dry_run:
            _tell_vectors_to_come(server.corpus_stats(collection))

    with invocation.connect() as server:
        if watch:
            keep_indexed(path, index_once, lambda: index_once(is_first=False))
        else:
            index_once()


def _has_changes(summary: client.SyncSummary) -> bool:
    return bool(summary.added_count or summary.updated_count or summary.removed_count)


def _tell_vectors_to_come(stats: client.CorpusStats) -> None:
    if stats.encoder_problem:
        click.echo(f"vectors: not being computed, so search goes by words alone: {printable(stats.encoder_problem)}")
        return
    click.echo(
        f"vectors: {stats.dense_coverage:.0%} computed; until they are complete, search goes by words alone"
        " (`client status` shows how far they are, --wait waits)"
    )


class _Bars:
    """One progress bar a phase. Progress comes from the client's thread, closing from the caller's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bar: tqdm[Any] | None = None
        self._phase: client.SyncPhase | None = None

    def show(self, progress: client.SyncProgress) -> None:
        with self._lock:
            if progress.phase is not self._phase:
                self._close()
                self._phase = progress.phase
                self._bar = progress_bar(progress.phase.value, total=None, unit=" files")
            if self._bar is not None:
                self._bar.total = progress.total_count or None
                self._bar.n = progress.done_count
                self._bar.refresh()

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None


def _tell(summary: client.SyncSummary, *, dry_run: bool, tell_files: bool) -> None:
    changed = [one for one in summary.files if one.outcome is not client.SyncFileOutcome.SKIPPED]
    if dry_run:
        for one in changed:
            click.echo(f"would be {one.outcome.value}: {printable_name(one.relative_path)}")
    elif tell_files:
        for one in summary.files:
            reason = f" ({printable(one.detail)})" if one.detail else ""
            click.echo(f"{one.outcome.value}: {printable_name(one.relative_path)}{reason}")
    counts = [
        f"{summary.added_count:,} added",
        f"{summary.updated_count:,} updated",
        f"{summary.unchanged_count:,} unchanged",
        f"{summary.removed_count:,} removed",
        f"{summary.skipped_count:,} skipped",
    ]
    click.echo(f"{'dry run, nothing was changed: ' if dry_run else ''}{', '.join(counts)}")
    skipped = [one for one in summary.files if one.outcome is client.SyncFileOutcome.SKIPPED]
    for reason, count in sorted(Counter(one.detail for one in skipped).items()):
        names = [printable_name(one.relative_path) for one in skipped if one.detail == reason][:3]
        more = ", …" if count > len(names) else ""
        click.echo(f"  skipped, {printable(reason)}: {counted(count, 'file')} ({', '.join(names)}{more})")
    if not tell_files:
        _tell_shared([one for one in changed if one.detail])
    if summary.prune_withheld:
        note("client: nothing was removed: part of the tree could not be read, so what is missing there is not known")
    if not dry_run:
        click.echo(
            f"searchable after {summary.elapsed_s:.1f} s: {counted(summary.chunk_count, 'passage')},"
            f" generation {summary.index_generation}"
        )


def _tell_shared(files: list[client.SyncedFile]) -> None:
    """Say which files came to lie beside documents of other sources: afterwards nobody would know."""
    for one in files[:_TOLD_SHARED_FILES]:
        note(f"client: {printable_name(one.relative_path)}: {printable(one.detail)}")
    if len(files) > _TOLD_SHARED_FILES:
        more = counted(len(files) - _TOLD_SHARED_FILES, "file")
        note(f"client: so it is with {more} more; `client docs ls --json` names all documents and their sources")
