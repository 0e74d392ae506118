"""The group of all commands: spellings, and every error as one line on standard error.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import click

import client
from client.cli.invocation import Invocation, json_option, server_option
from client.cli.output import printable_name

_MODULE_OF_COMMAND = {
    "index": "index",
    "search": "search",
    "search-dataset": "search_dataset",
    "answer": "answer",
    "answer-dataset": "answer_dataset",
    "evaluate": "evaluate",
    "evaluate-retrieval": "evaluate_retrieval",
    "evaluate-answers": "evaluate_answers",
    "status": "status",
    "show": "show",
    "docs": "docs",
    "collections": "collections",
    "stats": "collections",
    "rebuild": "rebuild",
    "synonyms": "synonyms",
    "tune": "tune",
    "snapshot": "snapshot",
    "queue": "queue",
    "workers": "queue",
    "attach": "attach",
    "cancel": "attach",
}
_INTERRUPTED = 130


class ClientGroup(click.Group):
    """Loads a command when it is named, and reports errors the same way for all."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of the help."""
        return list(_MODULE_OF_COMMAND)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command of that name, or None."""
        if cmd_name not in _MODULE_OF_COMMAND:
            return None
        module = import_module(f"client.cli.{_MODULE_OF_COMMAND[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run a command line and exit with its code."""
        arguments = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        sys.exit(_exit_code(lambda: super(ClientGroup, self).main(_checked(arguments), *rest, **extra)))


def _checked(arguments: list[str]) -> list[str]:
    for number, argument in enumerate(arguments, 1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise click.UsageError(f"argument {number} holds bytes that are not UTF-8 text") from None
    return arguments


def _exit_code(run: Callable[[], object]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter is no reason to fail
    try:
        code = run()
        sys.stdout.flush()
    except click.ClickException as error:
        return _fail(_usage_line(error), error.exit_code)
    except click.Abort:
        return _INTERRUPTED
    except client.ClientError as error:
        return _fail(_client_line(error), 1)
    except BrokenPipeError:
        # Whoever read the output has left; the interpreter's own flush at exit must not complain of it either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _fail(f"{error.filename or 'output'}: {(error.strerror or str(error)).lower()}", 1)
    return code if isinstance(code, int) else 0


def _fail(line: str, code: int) -> int:
    click.echo(f"client: {printable_name(' '.join(line.split()))}", err=True)
    return code


def _usage_line(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    see = f"; see `{context.command_path} --help`" if isinstance(error, click.UsageError) and context else ""
    return f"{error.format_message().rstrip('.')}{see}"


def _client_line(error: client.ClientError) -> str:
    if isinstance(error, client.Unavailable) and not error.reason:
        return f"{error}: start it with `make up` or `retrieval-server`, or name another with --server HOST:PORT"
    if isinstance(error, client.ServerFault) and error.request_id and error.request_id not in str(error):
        return f"{error} (the server's log has it under request {error.request_id})"
    if error.retry_after_s:
        return f"{str(error).rstrip('.')}; try again in {error.retry_after_s:g} s"
    return str(error)


@click.group(
    cls=ClientGroup,
    invoke_without_command=True,
    context_settings={
        "help_option_names": ["-h", "--help"],
        # search_dataset and --dataset_path are spelled so by the scripts of this ecosystem.
        "token_normalize_func": lambda name: name.replace("_", "-"),
    },
)
@server_option
@json_option
@click.version_option(package_name="groundwire", prog_name="client", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context, server: str | None, *, as_json: bool) -> None:
    """Index a tree, search it, and get answers that cite it."""
    context.obj = Invocation.of(server=server, as_json=as_json)
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
