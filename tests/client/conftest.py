"""Fixtures of the client's tests: a fake server, a client of it, a command line at it."""

import pytest
from click.testing import CliRunner

from client import Client
from client.cli.group import cli
from tests.client.support import FakeServer


@pytest.fixture
def server():
    fake = FakeServer()
    yield fake
    fake.stop()


@pytest.fixture
def library(server):
    with Client(server.address) as client:
        yield client


@pytest.fixture
def command_line(server, monkeypatch, tmp_path):
    """Run a command line against the fake server, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GROUNDWIRE_SERVER", server.address)

    def run(*arguments: object):
        return CliRunner().invoke(cli, [str(one) for one in arguments], prog_name="client")

    return run
