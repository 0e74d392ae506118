"""client tune: the weights of ranking that suit a collection, if a labelled dataset shows that others do."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import dataclasses

import click

import client
from client.cli.invocation import Invocation, collection_option, shared_options
from client.cli.labelled_dataset import read_labelled
from client.cli.output import counted, print_json
from client.cli.settling import wait_while_stale

_PROFILES = ("auto", "precise", "explore", "symbol")


@click.command("tune", short_help="Fit the weights of ranking to a labelled dataset.")
@click.argument("dataset", required=False)
@click.option("--apply", is_flag=True, help="Keep the weights on the collection if their gain is more than noise.")
@click.option("--reset", is_flag=True, help="Put the collection back to the weights of the profiles.")
@click.option("--profile", type=click.Choice(_PROFILES), default="auto", show_default=True, help="What to tune.")
@collection_option
@shared_options
def tune_command(
    invocation: Invocation, dataset: str | None, *, apply: bool, reset: bool, profile: str, collection: str
) -> None:
    """Fit the weights to the questions of DATASET that have sources, and show what they gain on questions left out.

    Nothing changes without --apply. Without DATASET, show what has been applied. The server's cross-encoder, if it has
    one, takes no part.
    """
    if reset and (dataset is not None or apply):
        raise click.UsageError("--reset goes with neither DATASET nor --apply")
    if apply and dataset is None:
        raise click.UsageError("--apply needs a DATASET")
    labelled = None if dataset is None else read_labelled(dataset)
    with invocation.connect() as server:
        if labelled is None:
            if reset:
                server.reset_tuned_fusion(collection)
            _show_applied(invocation, server.tuned_fusion(collection))
            return
        wait_while_stale(server, collection)
        steps = server.tune_fusion(
            labelled.questions, collection=collection, profile=client.RetrievalProfile(profile), apply=apply
        )
        report = labelled.report_of(steps, doing="tuning", unit=" steps")
    if invocation.as_json:
        print_json(report)
    else:
        _show(report, apply=apply)


def _show(report: client.TuningReport, *, apply: bool) -> None:
    others = f"; {report.other_profile_count:,} are for other profiles" if report.other_profile_count else ""
    click.echo(f"profile {report.profile.value}: {counted(report.question_count, 'question')}{others}")
    click.echo(f"{'':12}  {'in force':>8}  {'held out':>8}")
    for label, name in (("recall@1", "recall_at_1"), ("recall@5", "recall_at_5"), ("MRR@10", "mean_reciprocal_rank")):
        click.echo(f"{label:12}  {getattr(report.before, name):8.1%}  {getattr(report.held_out, name):8.1%}")
    interval = f"95 % interval {100 * report.gain_low:+.1f} to {100 * report.gain_high:+.1f}"
    click.echo(f"gain of their mean: {100 * report.gain:+.1f} points, {interval}, p = {report.p_value:.3f}")
    click.echo(f"fitted: {_weights(report.fusion)}")
    if not report.worth_keeping:
        click.echo("not kept: the gain cannot be told from noise")
    elif report.applied:
        click.echo("applied to the collection; `client tune --reset` takes it back")
    elif not apply:
        click.echo("worth keeping; --apply keeps it")


def _show_applied(invocation: Invocation, tuned: tuple[client.TunedFusion, ...]) -> None:
    if invocation.as_json:
        print_json({"tuned_fusion": tuned})
        return
    for one in tuned:
        click.echo(f"{one.profile.value}: {_weights(one.fusion)}")
    if not tuned:
        click.echo("nothing was tuned: every profile has its own weights")


def _weights(fusion: client.FusionOverrides) -> str:
    values = {field.name: getattr(fusion, field.name) for field in dataclasses.fields(fusion)}
    shown = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in values.items() if value is not None)
    return shown or "the profile's own weights"
