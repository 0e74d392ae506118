"""client synonyms: the synonym table of a collection."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import click

from client.cli.input_file import read_input
from client.cli.invocation import Invocation, collection_option, shared_options
from client.cli.output import counted, print_json, printable


@click.command("synonyms", short_help="Show or replace a collection's synonyms and abbreviations.")
@click.argument("table", required=False, metavar="[TABLE.toml]", type=click.Path(exists=True, dir_okay=False))
@collection_option
@shared_options
def synonyms_command(invocation: Invocation, table: str | None, *, collection: str) -> None:
    """Show the table of a collection, or replace it by TABLE.toml; an empty file empties it.

    In [two_way], TP = "tensor parallelism" lets each side also ask for the other; in [one_way], GPU = ["accelerator"]
    lets the left ask for the right alone.
    """
    with invocation.connect() as server:
        if table is not None:
            server.put_synonyms(_text_of(table), collection=collection)
        groups = server.synonyms(collection)
    if invocation.as_json:
        print_json({"groups": groups})
        return
    for group in groups:
        terms = " = ".join(group.terms)
        click.echo(printable(f"{terms} → {', '.join(group.expansions)}" if group.expansions else terms))
    click.echo(counted(len(groups), "group"))


def _text_of(path: str) -> str:
    try:
        return read_input(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise click.ClickException(f"{path}: is not UTF-8 text") from None
