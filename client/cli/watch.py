"""Indexing again whenever something changes on disk."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import time
from collections.abc import Callable, Iterator

import click

import client
from client.cli.output import note

_SETTLE_MS = 300
_STEP_MS = 100
_RETRY_S = 2.0


def changes_below(path: str) -> Iterator[bool]:
    """Yield all the time whether something has changed below a folder, or in a file, since the last time.

    Watching begins with the first item, which comes at once.
    """
    try:
        from watchfiles import watch
    except ImportError:
        raise click.ClickException("--watch needs the package watchfiles: pip install 'groundwire[watch]'") from None
    for changes in watch(path, debounce=_SETTLE_MS, step=_STEP_MS, rust_timeout=_STEP_MS, yield_on_timeout=True):
        yield bool(changes)


def keep_indexed(path: str, index: Callable[[], None], index_again: Callable[[], None]) -> None:
    """Index, then index again after each burst of changes; a server that is away is waited for."""
    changes = changes_below(path)
    next(changes)
    _index_until_reached(index)
    note("watching; Ctrl-C ends it")
    for has_changed in changes:
        if has_changed:
            _index_until_reached(index_again)


def _index_until_reached(index: Callable[[], None]) -> None:
    is_told = False
    while True:
        try:
            index()
        except (client.Unavailable, client.Overloaded, client.Conflict) as error:
            if not is_told:
                note(f"client: {error}; trying again")
                is_told = True
            time.sleep(_RETRY_S)
        else:
            return
