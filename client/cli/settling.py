"""Waiting for what the server still does in the background after a change was acknowledged."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import time

import click

import client
from client.cli.output import note, progress_bar

_POLL_S = 0.2
_STALE_TIMEOUT_S = 20.0


def wait_for_vectors(server: client.Client, collection: str) -> client.CorpusStats:
    """Return when every vector is there and nothing is stale; fail when no vectors are being computed."""
    bar = None
    try:
        while (stats := server.corpus_stats(collection)).dense_coverage < 1:
            if stats.encoder_problem:
                raise click.ClickException(f"vectors are not being computed: {stats.encoder_problem}")
            if bar is None:
                bar = progress_bar("vectors", total=stats.embeddable_chunk_count, unit=" passages")
            if bar is not None:
                bar.total, bar.n = stats.embeddable_chunk_count, stats.embedded_chunk_count
                bar.refresh()
            time.sleep(_POLL_S)
    finally:
        if bar is not None:
            bar.close()
    return wait_while_stale(server, collection)


def wait_while_stale(server: client.Client, collection: str) -> client.CorpusStats:
    """Return when no deleted passage weighs on scores any more, so that equal trees give equal results.

    A very large collection may keep a few for long; then this goes on without, and says so.
    """
    deadline_s = time.monotonic() + _STALE_TIMEOUT_S
    while (stats := server.corpus_stats(collection)).stale_chunk_count and time.monotonic() < deadline_s:
        time.sleep(_POLL_S)
    if stats.stale_chunk_count:
        note(f"{stats.stale_chunk_count:,} deleted passages still weigh on scores a little")
    return stats
