"""client rebuild: make what is derived of documents anew."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import click

import client
from client.cli.invocation import Invocation, collection_option, shared_options
from client.cli.output import counted, print_json, progress_bar


@click.command("rebuild", short_help="Bring a collection up to date with this version of the server.")
@click.option("--full", is_flag=True, help="All documents, not only those that another version parsed.")
@collection_option
@shared_options
def rebuild_command(invocation: Invocation, *, full: bool, collection: str) -> None:
    """Parse the documents of a collection anew from their originals, while it goes on serving.

    Ctrl-C leaves the server at it; running this again follows it.
    """
    progress: client.RebuildProgress | None = None
    bar = progress_bar("rebuilding", total=None, unit=" documents")
    try:
        with invocation.connect() as server, server.rebuild_collection(collection, full=full) as steps:
            for progress in steps:
                if invocation.as_json:
                    print_json(progress)
                if bar is not None:
                    bar.total, bar.n = progress.total_count, progress.done_count
                    bar.refresh()
    finally:
        if bar is not None:
            bar.close()
    if progress is None or not progress.finished:
        raise click.ClickException("the server ended the rebuild without saying that it is done")
    if not invocation.as_json:
        kept = f", {progress.kept_count:,} of them kept as they were" if progress.kept_count else ""
        click.echo(f"rebuilt: {counted(progress.done_count, 'document')}{kept}, generation {progress.index_generation}")
