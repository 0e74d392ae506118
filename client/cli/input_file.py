"""Content that a command is given: a file, or standard input, whole and of a bounded size."""

from __future__ import annotations

import sys

import click

from client import _read

STDIN = "-"
# What the client can send in one message.
_MAX_BYTES = 8 * 1024 * 1024


def read_input(file: str) -> bytes:
    """Return the bytes of a regular file, or of standard input for "-"; fail in one line on anything else."""
    try:
        if file != STDIN:
            return _read.read_regular_file(file, _MAX_BYTES)
        content = b"" if sys.stdin is None else _read.read_up_to(sys.stdin.buffer, _MAX_BYTES + 1)
    except _read.NotTakenError as refusal:
        raise click.ClickException(f"{file}: {refusal}") from None
    except OSError as error:
        raise click.ClickException(f"standard input: {_read.cannot_read(error)}") from None
    except ValueError:
        raise click.ClickException(f"{file!r}: no file has such a name") from None
    if len(content) > _MAX_BYTES:
        raise click.ClickException(f"standard input: {_read.too_large(_MAX_BYTES)}")
    return content
