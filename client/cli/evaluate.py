"""client evaluate: recall of search results against the places that a dataset knows. Needs no server."""

from collections import defaultdict, deque

import click

from client.cli.dataset_file import Question, Source, read_dataset, read_results
from client.cli.invocation import Invocation, given_once, shared_options
from client.cli.output import note, print_json
from client.cli.recall import first_hit_rank, recall_lines, recalls


@click.command("evaluate", short_help="Measure the recall of search results.")
@click.argument("results", required=False)
@click.argument("dataset", required=False)
@click.option("--student-search-results-path", metavar="RESULTS", help="The results, in place of the argument.")
@click.option("--dataset-path", metavar="DATASET", help="The answered dataset, in place of the argument.")
@click.option("-k", "--k", type=click.IntRange(min=1), help="Largest cutoff.  [default: that of RESULTS]")
@shared_options
def evaluate_command(
    invocation: Invocation,
    results: str | None,
    dataset: str | None,
    *,
    student_search_results_path: str | None,
    dataset_path: str | None,
    k: int | None,
) -> None:
    """Show Recall@k of RESULTS against DATASET, with 95 % intervals.

    `client evaluate-retrieval` measures a collection at once, without a results file.
    """
    if student_search_results_path is not None and results is not None and dataset is None:
        results, dataset = None, results  # the only argument is then the dataset
    result_file = read_results(given_once("RESULTS", results, student_search_results_path))
    dataset_file = read_dataset(given_once("DATASET", dataset, dataset_path))
    labelled = [one for one in dataset_file.questions if one.sources]
    if not labelled:
        raise click.ClickException(f"{dataset_file.path}: no question has sources: name the answered dataset")
    cutoff = k or result_file.k or 10
    if result_file.k is not None and cutoff > result_file.k:
        note(f"the results were made with k = {result_file.k}, so that is the largest cutoff")
        cutoff = result_file.k
    retrieved = _Retrieved(result_file.questions)
    ranks = [first_hit_rank(retrieved.take(one), one.sources) for one in labelled]
    table = recalls(ranks, cutoff)
    for line in (
        *(f"{dataset_file.path}: {one.label}: {one.problem}" for one in dataset_file.questions if one.problem),
        *(f"{dataset_file.path}: {one.label}: has no sources" for one in dataset_file.questions
          if not one.sources and not one.problem),
        *(f"{result_file.path}: {one.label}: {one.problem}" for one in result_file.questions if one.problem),
    ):  # fmt: skip
        note(f"client: {line}")
    if retrieved.missing_count:
        note(f"client: questions that are not in the results and count as not found: {retrieved.missing_count}")
    if retrieved.left_count:
        note(f"client: results that are for no labelled question and do not count: {retrieved.left_count}")
    if invocation.as_json:
        print_json(
            {
                "question_count": len(labelled),
                "missing_count": retrieved.missing_count,
                "recall": {f"recall@{one.k}": one for one in table},
            }
        )
        return
    for line in recall_lines(table, len(labelled)):
        click.echo(line)


class _Retrieved:
    """Results by question id; of several with one id, the first goes to the first question with that id, and so on."""

    def __init__(self, results: tuple[Question, ...]) -> None:
        self._sources: dict[str, deque[tuple[Source, ...]]] = defaultdict(deque)
        self.left_count = 0
        self.missing_count = 0
        for one in results:
            if one.question_id:
                self._sources[one.question_id].append(one.sources)
                self.left_count += 1

    def take(self, question: Question) -> tuple[Source, ...]:
        waiting = self._sources[question.question_id]
        if not waiting:
            self.missing_count += 1
            return ()
        self.left_count -= 1
        return waiting.popleft()
