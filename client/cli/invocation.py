"""What all commands share: --server and --json, before or after the command's name."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, Self

import click

import client

_P = ParamSpec("_P")
_SERVER_VARIABLE = "GROUNDWIRE_SERVER"
_DEFAULT_SERVER = "127.0.0.1:50051"

server_option = click.option(
    "--server", metavar="HOST:PORT", help=f"The server.  [default: ${_SERVER_VARIABLE}, else {_DEFAULT_SERVER}]"
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON: one object, or one a line as it comes.")
collection_option = click.option("--collection", default="default", show_default=True, help="The collection.")


@dataclass(frozen=True, slots=True)
class Invocation:
    """One run of the command line."""

    server: str
    as_json: bool

    @classmethod
    def of(cls, *, server: str | None, as_json: bool) -> Self:
        """Return the invocation that the group's options describe."""
        return cls(server or os.environ.get(_SERVER_VARIABLE) or _DEFAULT_SERVER, as_json)

    def connect(self) -> client.Client:
        """Return a client of the server; use it as a context manager."""
        try:
            return client.Client(self.server)
        except client.InvalidRequest as error:
            raise click.UsageError(str(error)) from None


def shared_options(command: Callable[Concatenate[Invocation, _P], None]) -> Callable[..., None]:
    """Give a command --server and --json, and pass it the Invocation first."""

    @server_option
    @json_option
    @click.pass_context
    @functools.wraps(command)
    def run(context: click.Context, /, *args: Any, server: str | None, as_json: bool, **kwargs: Any) -> None:
        outer = context.find_object(Invocation) or Invocation.of(server=None, as_json=False)
        command(Invocation(server or outer.server, as_json or outer.as_json), *args, **kwargs)

    return run


def given_once(name: str, positional: str | None, option: str | None) -> str:
    """Return the value that was given as an argument or as an option; it must be exactly one of them."""
    if positional is not None and option is not None and positional != option:
        raise click.UsageError(f"{name} is given twice: {positional!r} and {option!r}")
    value = positional if positional is not None else option
    if value is None:
        raise click.UsageError(f"missing {name}")
    return value
