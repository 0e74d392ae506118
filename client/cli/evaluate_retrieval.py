"""client evaluate-retrieval: how well a collection finds the places that a dataset knows, measured by the server."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import click

import client
from client.cli.invocation import Invocation, collection_option, shared_options
from client.cli.labelled_dataset import read_labelled
from client.cli.output import note, print_json
from client.cli.recall import recall_lines
from client.cli.search_options import fusion_options, profile_option, rerank_option, search_filter_options
from client.cli.settling import wait_while_stale


@click.command("evaluate-retrieval", short_help="Search for a dataset's questions and measure the recall.")
@click.argument("dataset")
@click.option("-k", "--k", type=click.IntRange(min=1), default=10, show_default=True, help="Passages a question.")
@profile_option
@rerank_option
@search_filter_options
@fusion_options
@collection_option
@shared_options
def evaluate_retrieval_command(
    invocation: Invocation,
    dataset: str,
    *,
    k: int,
    profile: str | None,
    rerank: bool | None,
    wanted: client.PassageFilter | None,
    fusion: client.FusionOverrides | None,
    collection: str,
) -> None:
    """Search the collection for every question of DATASET that has sources, and show Recall@k and MRR.

    The server searches, and no results are written. `client evaluate` shows the same recall of a results file that was
    written before.
    """
    labelled = read_labelled(dataset)
    with invocation.connect() as server:
        stats = wait_while_stale(server, collection)
        steps = server.evaluate_retrieval(
            labelled.questions,
            k=k,
            collection=collection,
            fusion=fusion,
            profile=None if profile is None else client.RetrievalProfile(profile),
            filter=wanted,
            rerank=rerank,
        )
        report = labelled.report_of(steps, doing="evaluation", unit=" questions")
    if stats.dense_coverage < 1:
        note(f"vectors: {stats.dense_coverage:.0%} computed, so these were found by their words alone")
    if invocation.as_json:
        print_json(
            {
                "question_count": len(labelled.items),
                "k": k,
                "index_generation": stats.collection.index_generation,
                "recall": {f"recall@{one.k}": one for one in report.recalls},
                "mean_reciprocal_rank": report.mean_reciprocal_rank,
                "first_hit_ranks": [
                    {"question_id": item.question_id, "rank": rank or None}
                    for item, rank in zip(labelled.items, report.first_hit_ranks, strict=True)
                ],
            }
        )
        return
    for line in recall_lines(report.recalls, len(labelled.items)):
        click.echo(line)
    click.echo(f"{f'MRR@{k}':10}  {report.mean_reciprocal_rank:6.1%}")
