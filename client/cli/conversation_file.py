"""The file of a conversation: a JSON line a turn, question and answer, oldest first."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import json
import os
from contextlib import suppress
from pathlib import Path

import click

import client
from client.cli.output import json_text

# What a server takes; older turns say the least about what a follow-up means.
MAX_TURN_COUNT = 50


def read_conversation(path: str) -> list[client.ConversationTurn]:
    """Return the last turns of a conversation, none when there is no such file; a bad file is an error by line.

    So is one that no turn can be added to: better before the answer than after it.
    """
    try:
        has_begun = Path(path).exists()
        if has_begun and not Path(path).is_file():  # a FIFO would block for ever
            raise click.ClickException(f"{path}: cannot be read: not a regular file")
        place = Path(path) if has_begun else Path(path).absolute().parent
        if not os.access(place, os.W_OK):
            problem = f"{place} cannot be written" if place.exists() else f"there is no folder {place}"
            raise click.ClickException(f"{path}: no turn can be kept: {problem}")
        if not has_begun:
            return []
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise click.ClickException(f"{path}: is not UTF-8 text") from None
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    return [_turn(path, number, line) for number, line in lines][-MAX_TURN_COUNT:]


def add_turn(path: str, question: str, answer: str) -> None:
    """Add a turn to the end of a conversation, which begins with it when there is no file yet."""
    line = json_text({"question": question, "answer": answer})
    held: bytes | None = None
    try:
        with Path(path).open("a+b") as file:
            # A last line without an end is an editor's habit.
            file.seek(0)
            held = file.read()
            end_of_last = "" if not held or held.endswith(b"\n") else "\n"
            file.write(f"{end_of_last}{line}\n".encode())
    except OSError as error:
        if held is not None:
            with suppress(OSError):
                os.truncate(path, len(held))  # what a full disk took of the line would be no turn
        raise click.ClickException(
            f"{path}: the turn cannot be kept: {(error.strerror or str(error)).lower()}"
        ) from None


def _turn(path: str, number: int, line: str) -> client.ConversationTurn:
    try:
        turn = json.loads(line)
        question, answer = turn["question"], turn.get("answer", "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        question = answer = None
    if not isinstance(question, str) or not isinstance(answer, str):
        raise click.ClickException(
            f'{path}: line {number} is no turn: {{"question": "…", "answer": "…"}} is one, the answer may be left out'
        )
    return client.ConversationTurn(question=question, answer=answer)
