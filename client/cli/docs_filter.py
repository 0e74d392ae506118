"""Which documents are meant, as options."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import re
from collections.abc import Callable, Sequence
from typing import Any

import click

import client
from client.cli.docs_values import number_of, time_of

_KINDS = ("code", "docs", "data")
_CONDITION = re.compile(r"(?P<key>.+?)(?P<sign><=|>=|=)(?P<value>.*)", re.DOTALL)


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a filter."""
    for option in (
        click.option("--where", multiple=True, metavar="CONDITION", help="KEY=TEXT, KEY>=VALUE or KEY<=VALUE."),
        click.option("--contains", multiple=True, metavar="TEXT", help="The stored text holds this, case-sensitive."),
        click.option("--kind", multiple=True, type=click.Choice(_KINDS), help="Only this kind of content."),
        click.option("--language", multiple=True, metavar="NAME", help="Only this language."),
        click.option("--exclude", multiple=True, metavar="GLOB", help="No display paths that match."),
    ):
        command = option(command)
    return command


def passage_filter(
    globs: Sequence[str],
    exclude: Sequence[str],
    language: Sequence[str],
    kind: Sequence[str],
    contains: Sequence[str],
    where: Sequence[str],
) -> client.PassageFilter:
    """Return the filter that was typed; each option may be given several times."""
    return client.PassageFilter(
        include_paths=tuple(globs),
        exclude_paths=tuple(exclude),
        languages=tuple(language),
        kinds=tuple(client.ContentKind(one) for one in kind),
        contains=tuple(contains),
        metadata=tuple(_condition(one) for one in where),
    )


def _condition(typed: str) -> client.MetadataCondition:
    match = _CONDITION.fullmatch(typed)
    if match is None:
        raise click.UsageError(f"{typed!r} is not KEY=TEXT, KEY>=VALUE or KEY<=VALUE")
    key, sign, value = match["key"], match["sign"], match["value"]
    if sign == "=":
        return client.MetadataCondition(key, equals=value)
    number, moment = number_of(value), time_of(value)
    if number is None and moment is None:
        raise click.UsageError(f"{value!r} is neither a number nor a time")
    is_least = sign == ">="
    return client.MetadataCondition(
        key,
        min_number=number if is_least else None,
        max_number=None if is_least else number,
        min_time=moment if is_least else None,
        max_time=None if is_least else moment,
    )
