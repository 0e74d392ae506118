"""client answer-dataset: an answer to every question of a set, or of a file of search results."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import time
from collections import Counter
from collections.abc import Iterator, Sequence

import click

import client
from client.cli.answer_events import skipped_sentence
from client.cli.answer_mode import mode_option
from client.cli.dataset_file import Question, read_either
from client.cli.dataset_run import DatasetRun, result_path_of, tell_problems
from client.cli.invocation import Invocation, collection_option, given_once, shared_options
from client.cli.journal import Entry
from client.cli.output import counted, print_json, printable_name
from client.cli.search_dataset import entry

_DEFAULT_K = 10
# Nobody waits for one answer of many; a busy worker is no reason to do without it.
_DEFAULT_TIMEOUT_S = 1800.0


@click.command("answer-dataset", short_help="Answer every question of a dataset.")
@click.argument("questions_path", metavar="[DATASET|RESULTS]", required=False)
@click.option("--dataset-path", metavar="DATASET", help="A dataset, in place of the argument.")
@click.option("--student-search-results-path", metavar="RESULTS", help="Search results, in place of the argument.")
@click.option("-k", "--k", type=click.IntRange(min=1), help="Passages a question.  [default: that of RESULTS, else 10]")
@mode_option
@click.option("--details", is_flag=True, help="Add each answer's citations, verdicts and maker, for evaluate-answers.")
@click.option(
    "--timeout",
    type=float,
    default=_DEFAULT_TIMEOUT_S,
    show_default=True,
    metavar="SECONDS",
    help="Longest time for one answer, its turn included.",
)
@click.option("--save-directory", default="data/output/search_results_and_answer", show_default=True, metavar="DIR")
@collection_option
@shared_options
def answer_dataset_command(
    invocation: Invocation,
    questions_path: str | None,
    *,
    dataset_path: str | None,
    student_search_results_path: str | None,
    k: int | None,
    mode: str | None,
    details: bool,
    timeout: float,
    save_directory: str,
    collection: str,
) -> None:
    """Answer every question of a dataset or of search results; the results go to DIR under the file's name.

    The server searches for each question and answers from what it finds; those passages are the sources in the results.
    A question that fails has an empty answer and is named at the end.
    """
    if not 0 < timeout < float("inf"):
        raise click.BadParameter("must be above 0 and finite", param_hint="--timeout")
    started = time.monotonic()
    path = given_once(
        "DATASET or RESULTS", questions_path, given_once_or_none(dataset_path, student_search_results_path)
    )
    questions = read_either(path)
    result_path = result_path_of(questions, save_directory)
    passage_count = k or questions.k or _DEFAULT_K
    made_by: Counter[str] = Counter()

    def entry_of(question: Question, result: client.AnswerResult) -> Entry:
        if result.state is client.AnswerState.SKIPPED:
            made_by["nobody: the corpus does not seem to hold the answer"] += 1
            return {**entry(question, result.passages), "answer": skipped_sentence(result), **more(result)}
        if result.state is not client.AnswerState.ANSWERED:
            raise result.error or client.ServerFault(f"the answer ended as {result.state.value}")
        made_by[f"{result.generator.model} ({result.generator.mode.value})"] += 1
        return {**entry(question, result.passages), "answer": result.text, **more(result)}

    def more(result: client.AnswerResult) -> Entry:
        return {"details": _details(result)} if details else {}

    with invocation.connect() as server:
        stats = server.corpus_stats(collection)
        options = client.AnswerOptions(mode=None if mode is None else client.AnswerMode(mode), timeout_s=timeout)

        def ask(texts: Sequence[str]) -> Iterator[client.AnswerOutcome]:
            return server.answer_many(texts, k=passage_count, collection=collection, options=options)

        problems = DatasetRun(
            questions=questions,
            result_path=result_path,
            conditions={
                "command": "answer-dataset",
                "dataset_sha256": questions.sha256,
                "collection": collection,
                "k": passage_count,
                "mode": mode,
                "details": details,
                "index_generation": stats.collection.index_generation,
                "vector_epoch": stats.vector_epoch,
            },
            k=passage_count,
            ask=ask,
            entry_of=entry_of,
            failed_entry=lambda question: {**entry(question, ()), "answer": ""},
        ).run()
    elapsed_s = time.monotonic() - started
    if invocation.as_json:
        print_json(
            {
                "results": str(result_path),
                "question_count": len(questions.questions),
                "k": passage_count,
                "made_by": made_by,
                "elapsed_s": elapsed_s,
                "problems": problems,
            }
        )
    else:
        shown_path = printable_name(str(result_path))
        click.echo(f"{counted(len(questions.questions), 'question')} in {elapsed_s:.1f} s; results: {shown_path}")
        for maker, count in made_by.most_common():
            click.echo(f"  {counted(count, 'answer')} made by {maker}")
    tell_problems(problems, result_path)


def _details(result: client.AnswerResult) -> Entry:
    return {
        "mode": result.generator.mode.value,
        "model": result.generator.model,
        "fallback_reason": result.generator.fallback_reason,
        "citations": [
            {
                "file_path": one.path,
                "first_character_index": one.start_char,
                "last_character_index": one.end_char,
            }
            for one in result.citations
        ],
        "sentences": [
            {
                "first_character_index": one.start_char,
                "last_character_index": one.end_char,
                "supported": one.supported,
            }
            for one in result.sentences
        ],
    }


def given_once_or_none(dataset: str | None, results: str | None) -> str | None:
    """Return whichever option was given; both is wrong usage."""
    if dataset is not None and results is not None:
        raise click.UsageError("give --dataset-path or --student-search-results-path, not both")
    return dataset if dataset is not None else results
