"""client evaluate-answers: answers against the references and sources of a dataset. Needs no server."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

from collections import defaultdict, deque

import click

from client.cli.answer_report import AnswerReport, Figure
from client.cli.dataset_file import Question, read_dataset, read_results
from client.cli.invocation import Invocation, given_once, shared_options
from client.cli.output import note, print_json

_LABELS = {
    "token_f1": "token F1",
    "new_words_f1": "token F1 without the question",
    "rouge_l": "ROUGE-L",
    "citation_precision": "citations inside a gold span",
    "citation_recall": "answers that cite a gold span",
    "unsupported_sentences": "sentences that nothing supports",
    "not_extractive": "answers that are not extractive",
    "refused_of_answerable": "answerable questions refused",
    "refused_of_unanswerable": "unanswerable questions refused",
}
_LABEL_WIDTH = 34


@click.command("evaluate-answers", short_help="Measure answers against references and sources.")
@click.argument("results", required=False)
@click.argument("dataset", required=False)
@click.option("--student-search-results-path", metavar="RESULTS", help="The results, in place of the argument.")
@click.option("--dataset-path", metavar="DATASET", help="The answered dataset, in place of the argument.")
@shared_options
def evaluate_answers_command(
    invocation: Invocation,
    results: str | None,
    dataset: str | None,
    *,
    student_search_results_path: str | None,
    dataset_path: str | None,
) -> None:
    """Show how good the answers of RESULTS are by DATASET, with 95 % intervals.

    A question of DATASET that has neither an answer nor sources is one that must be refused. Citations, support and
    makers are counted when RESULTS was written by `client answer-dataset --details`.
    """
    if student_search_results_path is not None and results is not None and dataset is None:
        results, dataset = None, results  # the only argument is then the dataset
    result_file = read_results(given_once("RESULTS", results, student_search_results_path))
    dataset_file = read_dataset(given_once("DATASET", dataset, dataset_path))
    waiting: defaultdict[str, deque[Question]] = defaultdict(deque)
    for one in result_file.questions:
        if one.problem:
            note(f"client: {result_file.path}: {one.label}: {one.problem}")
        else:
            waiting[one.question_id].append(one)
    report = AnswerReport()
    question_count = missing_count = 0
    for question in dataset_file.questions:
        if question.problem:
            note(f"client: {dataset_file.path}: {question.label}: {question.problem}")
            continue
        question_count += 1
        answered = waiting[question.question_id].popleft() if waiting[question.question_id] else None
        missing_count += answered is None
        try:
            report.add(question, None if answered is None else answered.item)
        except ValueError as error:
            raise click.ClickException(f"{result_file.path}: {question.label}: {error}") from None
    if not question_count:
        raise click.ClickException(f"{dataset_file.path}: holds no question")
    if missing_count:
        note(f"client: questions that are not in the results and count as not answered: {missing_count}")
    figures = report.figures()
    if invocation.as_json:
        print_json({"question_count": question_count, "missing_count": missing_count, "figures": figures})
        return
    click.echo(f"{'':{_LABEL_WIDTH}}  {'value':>6}  {'95 % interval':>15}  {'of':>5}")
    for name, figure in figures.items():
        click.echo(_row(_LABELS.get(name, name.replace("_", " ")), figure))


def _row(label: str, figure: Figure) -> str:
    interval = f"{figure.low:.1%} – {figure.high:.1%}"
    return f"{label:{_LABEL_WIDTH}}  {figure.value:6.1%}  {interval:>15}  {figure.count:>5}"
