"""client answer: a cited answer, as it is made."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import click

import client
from client.cli.answer_events import tell_events
from client.cli.invocation import Invocation, collection_option, shared_options


@click.command("answer", short_help="Answer one question, with sources.")
@click.argument("query")
@click.option("-k", "--k", type=int, help="How many passages to answer from.  [default: the server's, 10]")
@click.option("--mode", type=click.Choice(["stuff", "extractive"]), help="How to answer.  [default: stuff, by a model]")
@click.option(
    "--fallback",
    type=click.Choice(["extractive", "none"]),
    help="What to do when nothing can be generated.  [default: extractive, sentences of the passages]",
)
@click.option("--anyway", is_flag=True, help="Answer even when the corpus does not seem to hold the answer.")
@click.option("--closed-book", is_flag=True, help="Answer from what the model knows, to compare.")
@click.option("--keep", is_flag=True, help="Let the answer go on when this command is interrupted; see client attach.")
@click.option("--timeout", type=float, metavar="SECONDS", help="Longest time for the answer.  [default: 120]")
@click.option("--id", "request_id", metavar="ID", help="Name the answer for attach and cancel.  [default: made up]")
@collection_option
@shared_options
def answer_command(
    invocation: Invocation,
    query: str,
    k: int | None,
    *,
    mode: str | None,
    fallback: str | None,
    anyway: bool,
    closed_book: bool,
    keep: bool,
    timeout: float | None,
    request_id: str | None,
    collection: str,
) -> None:
    """Answer QUERY from the collection, with the places that back it."""
    if timeout is not None and not 0 < timeout < float("inf"):
        raise click.BadParameter("must be above 0 and finite", param_hint="--timeout")
    options = client.AnswerOptions(
        mode=None if mode is None else client.AnswerMode(mode),
        fallback=None if fallback is None else client.AnswerFallback(fallback),
        on_disconnect=client.DisconnectPolicy.KEEP if keep else None,
        answer_anyway=anyway,
        closed_book=closed_book,
        timeout_s=timeout,
    )
    with (
        invocation.connect() as server,
        server.stream_answer(query, k=k, collection=collection, options=options, request_id=request_id) as events,
    ):
        tell_events(events, as_json=invocation.as_json)
