"""client attach and client cancel: an answer that is being made elsewhere."""

import click

from client.cli.answer_events import tell_events
from client.cli.invocation import Invocation, shared_options
from client.cli.output import print_json


@click.command("attach", short_help="Follow an answer that is being made elsewhere.")
@click.argument("request_id", metavar="ID")
@click.option("--after", type=int, default=0, metavar="N", help="Only events after number N.  [default: all]")
@shared_options
def attach_command(invocation: Invocation, request_id: str, *, after: int) -> None:
    """Follow the running or finished answer ID to its end."""
    with invocation.connect() as server, server.attach_answer(request_id, after_sequence=after) as events:
        tell_events(events, as_json=invocation.as_json)


@click.command("cancel", short_help="End an answer.")
@click.argument("request_id", metavar="ID")
@shared_options
def cancel_command(invocation: Invocation, request_id: str) -> None:
    """End the answer ID."""
    with invocation.connect() as server:
        cancelled = server.cancel_answer(request_id)
    if invocation.as_json:
        print_json({"request_id": request_id, "cancelled": cancelled})
    else:
        click.echo("cancelled" if cancelled else "it had ended before")
