"""client queue, client workers: the answer queue, the jobs that were given up, and who works on the others."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import re

import click

import client
from client.cli.invocation import Invocation, shared_options
from client.cli.output import counted, print_json, printable

_DURATION = re.compile(r"(\d{1,9})([smhd])")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}
_SHOWN_QUESTION_CHARS = 100


@click.group("queue", short_help="Look after the answer queue.")
def queue_command() -> None:
    """Look after the answer queue."""


@queue_command.command("stats", short_help="Count the jobs.")
@shared_options
def stats_command(invocation: Invocation) -> None:
    """Count the jobs that wait, run and were given up."""
    with invocation.connect() as server:
        stats = server.queue_stats()
    if invocation.as_json:
        print_json(stats)
        return
    batch = f", {stats.waiting_batch_count:,} of them of batches" if stats.waiting_batch_count else ""
    click.echo(f"waiting: {stats.waiting_count:,}{batch}")
    click.echo(f"running: {stats.running_count:,}")
    click.echo(f"given up: {stats.dead_letter_count:,}{_see_dead(stats)}")
    paused_count = stats.live_worker_count - stats.accepting_worker_count
    paused = f"; taking none now: {paused_count:,}, see `client workers`" if paused_count else ""
    click.echo(f"workers: {stats.live_worker_count:,}, for {counted(stats.slot_count, 'job')} at a time{paused}")


def _see_dead(stats: client.QueueStats) -> str:
    return "; see `client queue dead`" if stats.dead_letter_count else ""


@queue_command.command("dead", short_help="List the jobs that were given up.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Most to list.")
@shared_options
def dead_command(invocation: Invocation, *, limit: int) -> None:
    """List the jobs that were given up after their workers crashed as often as is allowed, newest first."""
    found = []
    with invocation.connect() as server, server.dead_letters() as dead_letters:
        for one in dead_letters:
            found.append(one)
            if len(found) == limit:
                break
    if invocation.as_json:
        print_json({"dead_letters": found})
        return
    for one in found:
        when = "" if one.time is None else f"{one.time:%Y-%m-%d %H:%M:%S} "
        click.echo(
            f"{when}{printable(one.request_id)}: {counted(one.crash_count, 'worker')} lost,"
            f" the last {printable(one.worker_id) or 'unknown'}{'' if one.replayable else ', cannot be replayed'}"
        )
        if one.question:
            question = " ".join(one.question.split())
            cut = "…" if len(question) > _SHOWN_QUESTION_CHARS else ""
            click.echo(f"  {printable(question[:_SHOWN_QUESTION_CHARS])}{cut}")
    if not found:
        click.echo("no job was given up")


@queue_command.command("replay", short_help="Try jobs again that were given up.")
@click.argument("request_ids", metavar="ID…", nargs=-1, required=True)
@shared_options
def replay_command(invocation: Invocation, request_ids: tuple[str, ...]) -> None:
    """Put the jobs ID… back into the queue; `client attach ID` follows one."""
    replayed: list[str] = []
    try:
        with invocation.connect() as server:
            for request_id in request_ids:
                server.replay_dead_letter(request_id)
                replayed.append(request_id)
                if not invocation.as_json:
                    click.echo(f"waits again: {printable(request_id)}")
    finally:
        # Also when a later one could not be: those before it wait again all the same.
        if invocation.as_json and replayed:
            print_json({"replayed": replayed})


@queue_command.command("purge", short_help="Remove jobs that were given up.")
@click.argument("request_ids", metavar="[ID…]", nargs=-1)
@click.option("--older-than", metavar="TIME", help="Only older ones: a number with s, m, h or d, such as 7d.")
@click.option("--all", "everything", is_flag=True, help="All of them, when neither IDs nor an age are given.")
@shared_options
def purge_command(
    invocation: Invocation, request_ids: tuple[str, ...], *, older_than: str | None, everything: bool
) -> None:
    """Remove the jobs ID…, those of some age, or all that were given up."""
    if not request_ids and older_than is None and not everything:
        raise click.UsageError("say which ones: IDs, --older-than TIME, or --all")
    older_than_s = None if older_than is None else _seconds(older_than)
    with invocation.connect() as server:
        purged_count = server.purge_dead_letters(request_ids, older_than_s=older_than_s)
    if invocation.as_json:
        print_json({"purged_count": purged_count})
    else:
        click.echo(f"removed: {counted(purged_count, 'job')}")


def _seconds(text: str) -> float:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise click.UsageError(f"--older-than {text!r}: must be a number with s, m, h or d, such as 7d")
    return float(int(match[1]) * _UNIT_S[match[2]])


@click.command("workers", short_help="List the generation workers.")
@shared_options
def workers_command(invocation: Invocation) -> None:
    """List the generation workers that live, what they serve and how busy they are."""
    with invocation.connect() as server:
        workers = server.workers()
    if invocation.as_json:
        print_json({"workers": workers})
        return
    for one in workers:
        version = f", version {printable(one.version)}" if one.version else ""
        click.echo(
            f"{printable(one.worker_id)}: {printable(one.model)} with {one.context_tokens:,} tokens,"
            f" {one.running_count:,} of {counted(one.slot_count, 'job')}, up {one.uptime_s:,.0f} s{version}"
        )
        if one.not_accepting_reason:
            click.echo(f"  takes no jobs now: {printable(one.not_accepting_reason)}")
    if not workers:
        click.echo("no worker lives: start `generation-worker`")
