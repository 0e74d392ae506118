"""client collections, client stats: what the server holds."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import click

import client
from client.cli.confirming import confirm
from client.cli.invocation import Invocation, collection_option, shared_options
from client.cli.output import counted, print_json, printable
from client.cli.status import tell_collection


@click.group("collections", short_help="Make, list and remove collections.")
def collections_command() -> None:
    """Work with collections."""


@collections_command.command("ls", short_help="List collections.")
@shared_options
def list_command(invocation: Invocation) -> None:
    """List the collections by name."""
    with invocation.connect() as server:
        found = server.collections()
    if invocation.as_json:
        print_json({"collections": found})
        return
    for one in found:
        _tell(one)
    if not found:
        click.echo("no collections yet: `client index PATH` makes one")


@collections_command.command("create", short_help="Make an empty collection.")
@click.argument("name")
@click.option("--max-chunk-size", type=int, metavar="N", help="Largest passage in characters.  [default: 2000]")
@click.option(
    "--similarity",
    type=click.Choice(["cosine", "dot"]),
    default="cosine",
    show_default=True,
    help="How vectors are compared.",
)
@click.option("--sentences", type=int, metavar="N", help="Cut prose into passages of N sentences.")
@shared_options
def create_command(
    invocation: Invocation, name: str, *, max_chunk_size: int | None, similarity: str, sentences: int | None
) -> None:
    """Make the empty collection NAME."""
    with invocation.connect() as server:
        made = server.create_collection(
            name,
            max_chunk_size_chars=max_chunk_size,
            similarity=client.Similarity(similarity),
            sentences_per_chunk=sentences,
        )
    if invocation.as_json:
        print_json(made)
    else:
        click.echo(f"made: {made.name}")


@collections_command.command("get", short_help="Show one collection.")
@click.argument("name")
@shared_options
def get_command(invocation: Invocation, name: str) -> None:
    """Show the collection NAME."""
    with invocation.connect() as server:
        found = server.get_collection(name)
    if invocation.as_json:
        print_json(found)
    else:
        _tell(found)


@collections_command.command("rm", short_help="Remove a collection and all that it holds.")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options
def remove_command(invocation: Invocation, name: str, *, yes: bool) -> None:
    """Remove the collection NAME and all that it holds. It cannot be brought back but from a snapshot."""
    if not yes:
        confirm(f"remove the collection {name} and all its documents?")
    with invocation.connect() as server:
        count = server.delete_collection(name)
    if invocation.as_json:
        print_json({"name": name, "deleted_document_count": count})
    else:
        click.echo(f"removed: {name} with {counted(count, 'document')}")


@click.command("stats", short_help="Count what a collection holds.")
@collection_option
@shared_options
def stats_command(invocation: Invocation, *, collection: str) -> None:
    """Show documents, passages, vectors, sources and size of a collection."""
    with invocation.connect() as server:
        stats = server.corpus_stats(collection)
    if invocation.as_json:
        print_json(stats)
    else:
        tell_collection(stats)


def _tell(one: client.Collection) -> None:
    if one.state is client.CollectionState.DAMAGED:
        click.echo(f"{one.name}: cannot be used: {printable(one.problem)}")
        return
    made = f", made {one.create_time:%Y-%m-%d %H:%M}" if one.create_time else ""
    problem = f"; {printable(one.problem)}" if one.problem else ""
    click.echo(
        f"{one.name}: generation {one.index_generation}, passages of at most {one.max_chunk_size_chars:,} characters"
        f"{made}{problem}"
    )
