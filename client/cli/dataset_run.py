"""Asking every question of a set: resumed when cut off, bad items named, results written whole or not at all."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import click

import client
from client.cli.dataset_file import Question, QuestionFile
from client.cli.journal import Entry, Journal
from client.cli.output import counted, json_text, note, progress_bar

_T_co = TypeVar("_T_co", covariant=True)
_T = TypeVar("_T")
# Passes that bring nothing new; while each one does, a busy server is asked again however often.
_MAX_VAIN_PASS_COUNT = 3
_TELL_S = 30.0
_SHOWN_PROBLEM_COUNT = 20
_PAUSE_S = 0.5


class Outcome(Protocol[_T_co]):
    """One item of a batch."""

    @property
    def item_index(self) -> int:
        """Its place among what was asked."""

    @property
    def result(self) -> _T_co | None:
        """What came back, unless `error` did."""

    @property
    def error(self) -> client.ClientError | None:
        """Why nothing came back."""


@dataclass(frozen=True)
class DatasetRun(Generic[_T]):
    """One run: what is asked, how, and where the results go.

    `conditions` is everything that decides the results. `entry_of` makes the item of the result file; it raises
    ClientError when the result is no result. `failed_entry` makes the item of a question that failed.
    """

    questions: QuestionFile
    result_path: Path
    conditions: Mapping[str, object]
    k: int
    ask: Callable[[Sequence[str]], Iterator[Outcome[_T]]]
    entry_of: Callable[[Question, _T], Entry]
    failed_entry: Callable[[Question], Entry]

    def run(self) -> dict[str, str]:
        """Ask, write the result file, and return what was wrong with which items, by label."""
        questions = self.questions.questions
        problems = {one.item_number: one.problem for one in questions if one.problem}
        try:
            with Journal(self.result_path, self.conditions, len(questions)) as journal:
                if journal.entries:
                    note(f"going on with an unfinished run: {len(journal.entries)} of {len(questions)} are done")
                problems |= self._ask_all(journal)
                if questions and not journal.entries:
                    # Nothing worth keeping, least of all in place of what an earlier run found.
                    journal.finish()
                    raise click.ClickException(f"no question could be asked, nothing was written: {_first(problems)}")
                entries = [journal.entries.get(one.item_number) or self.failed_entry(one) for one in questions]
                write_whole(self.result_path, json_text({"search_results": entries, "k": self.k}, indent=2))
                journal.finish()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise click.ClickException(f"{self.result_path}: cannot be written: {reason}") from None
        return {one.label: problems[one.item_number] for one in questions if one.item_number in problems}

    def _ask_all(self, journal: Journal) -> dict[int, str]:
        """Ask what is not in the journal; what the server was too busy for is asked again."""
        to_ask = [one for one in self.questions.questions if askable(one) and one.item_number not in journal.entries]
        bar = progress_bar("questions", total=len(self.questions.questions), unit=" questions")
        problems: dict[int, str] = {}
        try:
            vain_pass_count = 0
            told_s = time.monotonic()
            while True:
                if bar is not None:
                    bar.n = len(journal.entries)
                busy = []
                done_before_count = len(journal.entries)
                for one in to_ask:
                    problems.pop(one.item_number, None)
                for outcome in self.ask([one.question for one in to_ask]):
                    question = to_ask[outcome.item_index]
                    error = self._keep(journal, question, outcome)
                    if error is not None:
                        problems[question.item_number] = str(error)
                        if isinstance(error, client.Overloaded | client.Unavailable):
                            busy.append((question, error.retry_after_s or _PAUSE_S))
                    if bar is not None:
                        bar.update()
                    elif time.monotonic() - told_s > _TELL_S:
                        told_s = time.monotonic()
                        note(f"{len(journal.entries):,} of {counted(len(self.questions.questions), 'question')} done")
                vain_pass_count = 0 if len(journal.entries) > done_before_count else vain_pass_count + 1
                if not busy or vain_pass_count == _MAX_VAIN_PASS_COUNT:
                    break
                time.sleep(max(pause_s for _, pause_s in busy))
                to_ask = [question for question, _ in busy]
        except client.ClientError as error:
            done = f"{len(journal.entries)} of {len(self.questions.questions)} are kept, run the same again to go on"
            raise click.ClickException(f"{error}; {done}") from None
        finally:
            if bar is not None:
                bar.close()
        return problems

    def _keep(self, journal: Journal, question: Question, outcome: Outcome[_T]) -> client.ClientError | None:
        if outcome.result is None:
            return outcome.error or client.ServerFault("neither a result nor an error came back")
        try:
            journal.add(question.item_number, self.entry_of(question, outcome.result))
        except client.ClientError as error:
            return error
        return None


def _first(problems: Mapping[int, str]) -> str:
    others = len(problems) - 1
    return f"{next(iter(problems.values()))}{f' (and {others} more)' if others else ''}"


def askable(question: Question) -> bool:
    """Tell whether an item can be asked; one whose id is taken can, only its id is ambiguous."""
    return bool(question.question_id and question.question.strip())


def result_path_of(question_file: QuestionFile, save_directory: str) -> Path:
    """Return where the results go: the directory, and the name of the question file."""
    path = Path(save_directory) / question_file.path.name
    with suppress(OSError):
        if path.exists() and path.samefile(question_file.path):
            raise click.UsageError(f"--save-directory {save_directory}: the results would overwrite {path}")
    return path


def tell_problems(problems: Mapping[str, str], result_path: Path) -> None:
    """Name the items that failed, one a line, and fail; do nothing when none did."""
    if not problems:
        return
    for label, problem in list(problems.items())[:_SHOWN_PROBLEM_COUNT]:
        note(f"client: {label}: {problem}")
    more = f", {len(problems) - _SHOWN_PROBLEM_COUNT} of them not shown" if len(problems) > _SHOWN_PROBLEM_COUNT else ""
    items = "item" if len(problems) == 1 else "items"
    raise click.ClickException(f"{len(problems)} bad {items}{more}; {result_path} holds all the others")


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
