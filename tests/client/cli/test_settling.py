"""Waiting for the server's work in the background."""

from types import SimpleNamespace

import click
import pytest

from client.cli import settling


class Server:
    """Tells one state after another, and stays in the last."""

    def __init__(self, *states):
        self.states = [
            SimpleNamespace(
                dense_coverage=coverage,
                stale_chunk_count=stale,
                encoder_problem=problem,
                embeddable_chunk_count=4,
                embedded_chunk_count=round(coverage * 4),
            )
            for coverage, stale, problem in states
        ]

    def corpus_stats(self, collection):
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(settling, "_POLL_S", 0)


def test_it_waits_for_vectors_and_then_for_what_is_stale():
    server = Server((0.0, 2, ""), (0.5, 2, ""), (1.0, 2, ""), (1.0, 2, ""), (1.0, 0, ""))
    stats = settling.wait_for_vectors(server, "c")
    assert (stats.dense_coverage, stats.stale_chunk_count) == (1.0, 0)


def test_vectors_that_nobody_computes_are_an_error():
    with pytest.raises(click.ClickException, match="no model"):
        settling.wait_for_vectors(Server((0.5, 0, "no model")), "c")


def test_what_stays_stale_is_said_and_not_waited_for(monkeypatch, capsys):
    monkeypatch.setattr(settling, "_STALE_TIMEOUT_S", 0)
    assert settling.wait_while_stale(Server((1.0, 3, "")), "c").stale_chunk_count == 3
    assert "3 deleted passages" in capsys.readouterr().err
