"""client show: a place of the corpus, as the index has it."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import re

import click

import client
from client.cli.invocation import Invocation, collection_option, shared_options
from client.cli.output import counted, print_json, printable

_PLACE = re.compile(r"(?P<path>.+):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?", re.DOTALL)


@click.command("show", short_help="Show a place of the corpus.")
@click.argument("place", metavar="PATH[:LINE[-LAST]]")
@click.option(
    "--context",
    "context_count",
    type=click.IntRange(0, 10_000),
    default=5,
    show_default=True,
    metavar="N",
    help="Lines before and after.",
)
@collection_option
@shared_options
def show_command(invocation: Invocation, place: str, *, context_count: int, collection: str) -> None:
    """Show the lines at PATH:LINE, or the whole document at PATH."""
    match = _PLACE.fullmatch(place)
    path = match["path"] if match else place
    with invocation.connect() as server:
        try:
            document = server.get_document(path, collection=collection)
        except client.NotFound:
            if match is None:
                raise
            named = _named_like_a_place(server, place, collection)
            if named is None:
                raise
            document, match = named, None
    lines = split_lines(document.text)
    first, last = 1, len(lines)
    marked = range(0)
    if match:
        first = int(match["first"])
        last = int(match["last"] or first)
        if not 1 <= first <= last <= len(lines):
            raise click.ClickException(
                f"{path} has {counted(len(lines), 'line')}: there is no {place[len(path) + 1 :]}"
            )
        marked = range(first, last + 1)
        first, last = max(1, first - context_count), min(len(lines), last + context_count)
    if invocation.as_json:
        shown = [{"line": number, "text": lines[number - 1]} for number in range(first, last + 1)]
        print_json({"path": document.path, "language": document.language, "lines": shown})
        return
    width = len(str(last))
    for number in range(first, last + 1):
        sign = ">" if number in marked else " "
        click.echo(f"{sign} {number:>{width}}  {printable(lines[number - 1])}")


def _named_like_a_place(server: client.Client, name: str, collection: str) -> client.Document | None:
    """Return the document whose name ends like a place of another one."""
    try:
        return server.get_document(name, collection=collection)
    except client.NotFound:
        return None


def split_lines(text: str) -> list[str]:
    r"""Return the lines of a stored text; \n, \r\n and \r end one, as in the server's line numbers."""
    lines = re.split(r"\r\n|\n|\r", text)
    return lines[:-1] if lines[-1] == "" else lines
