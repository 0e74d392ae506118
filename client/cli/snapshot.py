"""client snapshot: copies of collections."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import click

import client
from client.cli.confirming import confirm
from client.cli.invocation import Invocation, collection_option, shared_options
from client.cli.output import counted, print_json

_MIB = 1024 * 1024


@click.group("snapshot", short_help="Make, list, restore and remove copies of collections.")
def snapshot_command() -> None:
    """Work with snapshots: copies of a collection as of one moment."""


@snapshot_command.command("create", short_help="Copy a collection as it is now.")
@collection_option
@shared_options
def create_command(invocation: Invocation, *, collection: str) -> None:
    """Copy a collection as it is now; it goes on being searched and changed."""
    with invocation.connect() as server:
        made = server.create_snapshot(collection)
    if invocation.as_json:
        print_json(made)
    else:
        _tell(made)


@snapshot_command.command("ls", short_help="List snapshots.")
@click.option("--collection", help="Only of this collection.")
@shared_options
def list_command(invocation: Invocation, *, collection: str | None) -> None:
    """List snapshots, newest first."""
    with invocation.connect() as server:
        found = server.snapshots(collection)
    if invocation.as_json:
        print_json({"snapshots": found})
        return
    for one in found:
        _tell(one)
    if not found:
        click.echo("no snapshots yet: `client snapshot create` makes one")


@snapshot_command.command("restore", short_help="Put a collection back to a snapshot.")
@click.argument("snapshot_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options
def restore_command(invocation: Invocation, snapshot_id: str, *, yes: bool) -> None:
    """Put the collection of the snapshot ID back to it; what was changed since is gone."""
    if not yes:
        confirm(f"put the collection back to {snapshot_id}, and lose what came later?")
    with invocation.connect() as server:
        generation = server.restore_snapshot(snapshot_id)
    if invocation.as_json:
        print_json({"snapshot_id": snapshot_id, "index_generation": generation})
    else:
        click.echo(f"restored: {snapshot_id}, now generation {generation}")


@snapshot_command.command("rm", short_help="Remove snapshots.")
@click.argument("snapshot_ids", nargs=-1, required=True, metavar="ID…")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options
def remove_command(invocation: Invocation, snapshot_ids: tuple[str, ...], *, yes: bool) -> None:
    """Remove the snapshots ID; collections stay as they are."""
    if not yes:
        confirm(f"remove {counted(len(snapshot_ids), 'snapshot')} for good?")
    with invocation.connect() as server:
        for snapshot_id in snapshot_ids:
            server.delete_snapshot(snapshot_id)
            if invocation.as_json:
                print_json({"snapshot_id": snapshot_id})
            else:
                click.echo(f"removed: {snapshot_id}")


def _tell(one: client.Snapshot) -> None:
    made = f"{one.create_time:%Y-%m-%d %H:%M:%S}" if one.create_time else "at an unknown time"
    click.echo(
        f"{one.snapshot_id}: {one.collection}, generation {one.index_generation}, made {made},"
        f" {one.size_bytes / _MIB:,.1f} MiB"
    )
