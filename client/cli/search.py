"""client search: the best passages for one question."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import re

import click

import client
from client.cli.explanation import explanation_lines
from client.cli.invocation import Invocation, collection_option, shared_options
from client.cli.output import note, print_json, printable, span
from client.cli.search_options import fusion_options, profile_option, rerank_option, search_filter_options

_SNIPPET_LINE_COUNT = 6
_SNIPPET_COLUMNS = 160
_WORD = re.compile(r"\w{3,}")


@click.command("search", short_help="Find the passages for one question.")
@click.argument("query")
@click.option("-k", "--k", type=int, help="How many passages.  [default: the server's, 10]")
@click.option("--explain", is_flag=True, help="Show rank, score, contribution and matched terms of each list.")
@profile_option
@rerank_option
@click.option("--hops", type=int, metavar="N", help="2: ask again with names that the first passages introduce.")
@click.option("--balance", is_flag=True, help="Take docs and code in turn.")
@click.option("--max-per-file", type=int, metavar="N", help="At most N passages of one file.")
@search_filter_options
@fusion_options
@collection_option
@shared_options
def search_command(
    invocation: Invocation,
    query: str,
    k: int | None,
    *,
    explain: bool,
    profile: str | None,
    rerank: bool | None,
    hops: int | None,
    balance: bool,
    max_per_file: int | None,
    wanted: client.PassageFilter | None,
    fusion: client.FusionOverrides | None,
    collection: str,
) -> None:
    """Show the passages that best match QUERY. Options of a filter may be given several times."""
    with invocation.connect() as server:
        result = server.retrieve(
            query,
            k=k,
            collection=collection,
            explain=explain,
            profile=None if profile is None else client.RetrievalProfile(profile),
            hops=hops,
            balance=balance,
            rerank=rerank,
            max_per_file=max_per_file,
            filter=wanted,
            fusion=fusion,
        )
    if invocation.as_json:
        print_json(result)
        return
    _show_all(result, query, explain=explain)
    if not result.passages and wanted is not None and wanted.include_paths:
        note('a glob covers the whole display path: "**/*.md" is every Markdown file')


def _show_all(result: client.RetrieveResult, query: str, *, explain: bool) -> None:
    if explain:
        why = f": {printable(result.profile_explanation)}" if result.profile_explanation else ""
        click.echo(f"profile {result.profile_used}{why}")
    if result.second_hop is not None:
        click.echo(f"second hop: {printable(result.second_hop.query)}")
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
    hop = "  hop 2" if passage.hop > 1 else ""
    click.echo(f"{rank}. {place}  score {passage.score:.4f}{hop}")
    if passage.breadcrumbs:
        click.echo(f"   {printable(' › '.join(passage.breadcrumbs))}")
    if explain:
        for line in explanation_lines(passage):
            click.echo(f"   {line}")
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
