"""client search: the best passages for one question."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import re

import click

import client
from client.cli.invocation import Invocation, collection_option, shared_options
from client.cli.output import note, print_json, printable, span

_SNIPPET_LINE_COUNT = 6
_SNIPPET_COLUMNS = 160
_WORD = re.compile(r"\w{3,}")


@click.command("search", short_help="Find the passages for one question.")
@click.argument("query")
@click.option("-k", "--k", type=int, help="How many passages.  [default: the server's, 10]")
@click.option("--explain", is_flag=True, help="Show rank, score, contribution and matched terms of each list.")
@click.option("--max-per-file", type=int, metavar="N", help="At most N passages of one file.")
@collection_option
@shared_options
def search_command(
    invocation: Invocation, query: str, k: int | None, *, explain: bool, max_per_file: int | None, collection: str
) -> None:
    """Show the passages that best match QUERY."""
    with invocation.connect() as server:
        result = server.retrieve(query, k=k, collection=collection, explain=explain, max_per_file=max_per_file)
    if invocation.as_json:
        print_json(result)
        return
    for rank, passage in enumerate(result.passages, 1):
        _show(rank, passage, query, explain=explain)
    if not result.passages:
        click.echo("Nothing matches.")
    if result.dense_coverage < 1:
        note(f"vectors: {result.dense_coverage:.0%} computed, so these were found by their words alone")
    if result.answer_skipped_reason is client.AnswerSkippedReason.LOW_RELEVANCE:
        note(f"answerability {result.answerability:.2f}: the corpus may not hold the answer")


def _show(rank: int, passage: client.Passage, query: str, *, explain: bool) -> None:
    place = click.style(span(passage.path, passage.start_line, passage.end_line), bold=True)
    click.echo(f"{rank}. {place}  score {passage.score:.4f}")
    if passage.breadcrumbs:
        click.echo(f"   {printable(' › '.join(passage.breadcrumbs))}")
    if explain:
        for one in passage.list_scores:
            found = f"rank {one.rank}, score {one.raw_score:.4f}" if one.rank else "not in the list"
            terms = f", matched: {printable(' '.join(one.matched_terms))}" if one.matched_terms else ""
            click.echo(f"   {one.list}: {found}, contributes {one.contribution:.4f}{terms}")
        for prior in passage.priors:
            click.echo(f"   prior {prior.name}: × {prior.factor:g}")
    for line in snippet(passage.text, query):
        click.echo(f"   │ {line}")
    click.echo()


def snippet(text: str, query: str) -> list[str]:
    """Return the few lines of `text` that begin where it holds most words of the query."""
    lines = [printable(line) for line in text.splitlines() if line.strip()]
    words = {word.casefold() for word in _WORD.findall(query)}
    hits = [sum(word in line.casefold() for word in words) for line in lines]
    last_start = max(0, len(lines) - _SNIPPET_LINE_COUNT)
    windows = [sum(hits[start : start + _SNIPPET_LINE_COUNT]) for start in range(last_start + 1)]
    start = windows.index(max(windows))
    chosen = lines[start : start + _SNIPPET_LINE_COUNT]
    return [line if len(line) <= _SNIPPET_COLUMNS else f"{line[: _SNIPPET_COLUMNS - 1]}…" for line in chosen]
