"""What is asked before something is lost."""

import pytest
from click.testing import CliRunner

from client.cli.group import cli

_LOSING = [("collections", "rm", "notes"), ("snapshot", "rm", "s-1"), ("snapshot", "restore", "s-1")]


def _run(server, *arguments: str, given: str):
    return CliRunner().invoke(cli, ["--server", server.address, *arguments], input=given, prog_name="client")


@pytest.mark.parametrize("arguments", _LOSING, ids=" ".join)
def test_where_nobody_can_answer_the_remedy_is_told(server, arguments):
    run = _run(server, *arguments, given="")
    assert run.exit_code == 2
    asked, told = run.stderr.splitlines()
    assert asked.rstrip().endswith("[y/N]:")
    assert told.startswith("client: standard input ended before an answer: say --yes")


@pytest.mark.parametrize("arguments", _LOSING, ids=" ".join)
def test_a_no_changes_nothing_and_is_no_complaint(server, arguments):
    run = _run(server, *arguments, given="n\n")
    assert run.exit_code == 130
    assert "client:" not in run.stderr
    assert run.stdout in {"", "n\n"}
