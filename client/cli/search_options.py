"""Options of what searches: the kind of question, a filter, the constants of fusion."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import functools
from collections.abc import Callable
from typing import Any

import click

import client
from client.cli.docs_filter import filter_options, passage_filter

profile_option = click.option(
    "--profile",
    type=click.Choice(["auto", "precise", "explore", "symbol"]),
    help="Kind of question.  [default: the server decides]",
)
rerank_option = click.option(
    "--rerank/--no-rerank",
    default=None,
    help="Let the server's cross-encoder order the first candidates anew.  [default: if it has one]",
)


def search_filter_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a filter, and pass it the filter, None when nothing was typed, as `wanted`."""

    @click.option(
        "--include", multiple=True, metavar="GLOB", help="Only display paths that match; `**` crosses folders."
    )
    @filter_options
    @functools.wraps(command)
    def run(
        *args: Any,
        include: tuple[str, ...],
        exclude: tuple[str, ...],
        language: tuple[str, ...],
        kind: tuple[str, ...],
        contains: tuple[str, ...],
        where: tuple[str, ...],
        **kwargs: Any,
    ) -> None:
        wanted = passage_filter(include, exclude, language, kind, contains, where)
        command(*args, wanted=None if wanted == client.PassageFilter() else wanted, **kwargs)

    return run


def fusion_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the constants of fusion, and pass it those that were typed as `fusion`, None for none."""

    @click.option("--lexical-weight", type=float, metavar="W", help="Weight of the BM25 list.")
    @click.option("--dense-weight", type=float, metavar="W", help="Weight of the vectors' list.")
    @click.option("--expanded-weight", type=float, metavar="W", help="Weight of the BM25 list with synonyms.")
    @click.option("--margin-weight", type=float, metavar="W", help="How far scores, and not ranks, decide: 0 to 1.")
    @click.option("--proximity-weight", type=float, metavar="W", help="What words of the query side by side add.")
    @click.option("--path-weight", type=float, metavar="W", help="What words of the query in the path add.")
    @click.option("--definition-weight", type=float, metavar="W", help="Weight of the list of definitions.")
    @click.option("--rank-constant", type=int, metavar="N", help="The k of weight / (k + rank).")
    @click.option("--pool-count", type=int, metavar="N", help="Candidates of each list.")
    @functools.wraps(command)
    def run(
        *args: Any,
        lexical_weight: float | None,
        dense_weight: float | None,
        expanded_weight: float | None,
        margin_weight: float | None,
        proximity_weight: float | None,
        path_weight: float | None,
        definition_weight: float | None,
        rank_constant: int | None,
        pool_count: int | None,
        **kwargs: Any,
    ) -> None:
        fusion = client.FusionOverrides(
            lexical_weight,
            dense_weight,
            rank_constant,
            pool_count,
            expanded_weight,
            margin_weight,
            proximity_weight,
            path_weight,
            definition_weight,
        )
        command(*args, fusion=None if fusion == client.FusionOverrides() else fusion, **kwargs)

    return run
