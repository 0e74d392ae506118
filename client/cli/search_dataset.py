"""client search-dataset: the passages for every question of a set."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import time
from collections.abc import Iterator, Sequence

import click

import client
from client.cli.dataset_file import Question, read_dataset
from client.cli.dataset_run import DatasetRun, result_path_of, tell_problems
from client.cli.invocation import Invocation, collection_option, given_once, shared_options
from client.cli.journal import Entry
from client.cli.output import counted, note, print_json, printable_name
from client.cli.settling import wait_while_stale


@click.command("search-dataset", short_help="Find the passages for every question of a dataset.")
@click.argument("dataset", required=False)
@click.option("--dataset-path", metavar="DATASET", help="The dataset, in place of the argument.")
@click.option("-k", "--k", type=click.IntRange(min=1), default=10, show_default=True, help="Passages a question.")
@click.option("--save-directory", default="data/output/search_results", show_default=True, metavar="DIR")
@collection_option
@shared_options
def search_dataset_command(
    invocation: Invocation,
    dataset: str | None,
    *,
    dataset_path: str | None,
    k: int,
    save_directory: str,
    collection: str,
) -> None:
    """Search for every question of DATASET; the results go to DIR under the dataset's name.

    A question that fails has no sources in the results and is named at the end. A run that was cut off goes on where it
    was, unless the dataset, the parameters or the index have changed.
    """
    started = time.monotonic()
    questions = read_dataset(given_once("DATASET", dataset, dataset_path))
    result_path = result_path_of(questions, save_directory)
    views: set[tuple[int, int]] = set()

    def entry_of(question: Question, result: client.RetrieveResult) -> Entry:
        views.add((result.index_generation, result.vector_epoch))
        return entry(question, result.passages)

    with invocation.connect() as server:
        stats = wait_while_stale(server, collection)
        before = (stats.collection.index_generation, stats.vector_epoch)

        def ask(texts: Sequence[str]) -> Iterator[client.RetrieveOutcome]:
            return server.retrieve_many(texts, k=k, collection=collection)

        problems = DatasetRun(
            questions=questions,
            result_path=result_path,
            conditions={
                "command": "search-dataset",
                "dataset_sha256": questions.sha256,
                "collection": collection,
                "k": k,
                "index_generation": before[0],
                "vector_epoch": before[1],
            },
            k=k,
            ask=ask,
            entry_of=entry_of,
            failed_entry=lambda question: entry(question, ()),
        ).run()
    elapsed_s = time.monotonic() - started
    if stats.dense_coverage < 1:
        note(f"vectors: {stats.dense_coverage:.0%} computed, so these were found by their words alone")
    if views - {before}:
        note("the index changed during the run: the results are not all from one state of it")
    if invocation.as_json:
        print_json(
            {
                "results": str(result_path),
                "question_count": len(questions.questions),
                "k": k,
                "index_generation": before[0],
                "elapsed_s": elapsed_s,
                "problems": problems,
            }
        )
    else:
        shown_path = printable_name(str(result_path))
        click.echo(f"{counted(len(questions.questions), 'question')} in {elapsed_s:.1f} s; results: {shown_path}")
    tell_problems(problems, result_path)


def entry(question: Question, passages: Sequence[client.Passage]) -> Entry:
    """Return the item of a results file."""
    return {
        "question_id": question.question_id,
        "question": question.question,
        "retrieved_sources": [
            {
                "file_path": one.path,
                "first_character_index": one.start_char,
                "last_character_index": one.end_char,
            }
            for one in passages
        ],
    }
