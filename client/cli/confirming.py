"""Asking before something is lost."""

import click


def confirm(question: str) -> None:
    """Return when the answer is yes. Raises Abort for a no and for Ctrl-C, UsageError where nobody can answer."""
    try:
        click.confirm(question, abort=True, err=True)
    except click.Abort as stop:
        if not isinstance(stop.__context__, EOFError):  # click tells a Ctrl-C and an ended input by the same error
            raise
        click.echo(err=True)
        raise click.UsageError("standard input ended before an answer: say --yes to be asked nothing") from None
