"""client status: the server, its collections, its queue and workers."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import click

import client
from client.cli.invocation import Invocation, shared_options
from client.cli.output import counted, print_json, printable, printable_name

_MIB = 1024 * 1024


@click.command("status", short_help="Show the server, its collections and its queue.")
@shared_options
def status_command(invocation: Invocation) -> None:
    """Show whether the server is well, what it holds, and who generates answers."""
    with invocation.connect() as server:
        health = server.health()
        settings = server.server_settings()
        collections = server.collections()
        usable = [one for one in collections if one.state is not client.CollectionState.DAMAGED]
        stats = [found for one in usable if (found := _stats(server, one.name)) is not None]
        queue, queue_problem = _queue(server)
        workers = server.workers() if queue is not None else ()
    if invocation.as_json:
        print_json(
            {
                "server": invocation.server,
                "health": health,
                "version": settings.version,
                "collections": stats,
                "problems": {one.name: one.problem for one in collections if one.problem},
                "queue": queue,
                "queue_problem": queue_problem,
                "workers": workers,
            }
        )
        return
    click.echo(f"server {invocation.server}: {health.value}, version {printable(settings.version)}")
    for one in stats:
        tell_collection(one)
    for collection in collections:
        if collection.problem:
            click.echo(f"  {collection.name}: {printable(collection.problem)}")
    if not collections:
        click.echo("no collections yet: `client index PATH` makes one")
    if queue is None:
        click.echo(f"queue: {queue_problem}")
        return
    click.echo(
        f"queue: {queue.waiting_count} waiting, {queue.running_count} running, {queue.dead_letter_count} given up,"
        f" {counted(queue.live_worker_count, 'live worker')}"
    )
    for worker in workers:
        paused = f"; takes no jobs now: {worker.not_accepting_reason}" if worker.not_accepting_reason else ""
        shown = f"{worker.worker_id}: {worker.model}, up {worker.uptime_s:,.0f} s{paused}"
        click.echo(f"  worker {printable(shown)}")


def _stats(server: client.Client, collection: str) -> client.CorpusStats | None:
    """Return what a collection holds; None when it was removed after it was listed."""
    try:
        return server.corpus_stats(collection)
    except client.NotFound:
        return None


def _queue(server: client.Client) -> tuple[client.QueueStats | None, str]:
    """Return the queue's counts, or why there are none: retrieval works without it."""
    try:
        return server.queue_stats(), ""
    except (client.Unavailable, client.NotServed) as error:
        return None, str(error)


def tell_collection(stats: client.CorpusStats) -> None:
    """Print what a collection holds."""
    click.echo(
        f"collection {stats.collection.name}: {counted(stats.document_count, 'document')},"
        f" {counted(stats.chunk_count, 'passage')}, generation {stats.collection.index_generation},"
        f" {stats.disk_bytes / _MIB:,.1f} MiB on disk"
    )
    click.echo(
        f"  vectors: {stats.embedded_chunk_count:,} of {stats.embeddable_chunk_count:,} ({stats.dense_coverage:.0%})"
        + (f", {printable(stats.encoder)}" if stats.encoder else "")
        + (f"; not being computed: {printable(stats.encoder_problem)}" if stats.encoder_problem else "")
    )
    for source in stats.sources:
        shown = printable_name(source.display_prefix or ".")
        click.echo(
            f"  {counted(source.document_count, 'document')} from {printable_name(source.source)}, shown as {shown}"
        )
