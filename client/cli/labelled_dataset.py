"""The questions of a dataset whose answers' places are known, as the server measures and tunes on them."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

import click

import client
from client.cli.dataset_file import Question, read_dataset
from client.cli.output import counted, note, progress_bar

_SENT_QUESTION = re.compile(r"\bquestions\[(\d+)\]\.")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class LabelledDataset:
    """Items of a dataset that have sources, in the order of the file."""

    items: tuple[Question, ...]

    @property
    def questions(self) -> list[client.LabelledQuestion]:
        """The items as they are sent."""
        return [
            client.LabelledQuestion(
                one.question_id,
                one.question,
                tuple(
                    client.LabelledSpan(s.file_path, s.first_character_index, s.last_character_index)
                    for s in one.sources
                ),
            )
            for one in self.items
        ]

    def report_of(
        self,
        steps: AbstractContextManager[Iterator[client.EvaluationProgress | _R]],
        *,
        doing: str,
        unit: str,
    ) -> _R:
        """Show the progress that a call tells, and return the report at its end."""
        report: _R | None = None
        bar = progress_bar(doing, total=None, unit=unit)
        try:
            with steps as told:
                for step in told:
                    if not isinstance(step, client.EvaluationProgress):
                        report = step
                    elif bar is not None:
                        bar.total, bar.n = step.total_count, step.done_count
                        bar.refresh()
        except client.InvalidRequest as error:
            raise click.ClickException(self._told_of_items(error)) from None
        finally:
            if bar is not None:
                bar.close()
        if report is None:
            raise click.ClickException(f"the server ended {doing} without a report")
        return report

    def _told_of_items(self, error: client.InvalidRequest) -> str:
        """Name the items as the dataset does: the server counts those that were sent."""

        def label(found: re.Match[str]) -> str:
            number = int(found[1])
            return f"{self.items[number].label}: " if number < len(self.items) else found[0]

        return _SENT_QUESTION.sub(label, str(error))


def read_labelled(path: str) -> LabelledDataset:
    """Read a dataset and name what takes no part; raises ClickException when nothing does."""
    found = read_dataset(path)
    labelled = tuple(one for one in found.questions if one.sources and not one.problem)
    if not labelled:
        raise click.ClickException(f"{found.path}: no question has sources: name the answered dataset")
    for one in found.questions:
        if one.problem:
            note(f"client: {found.path}: {one.label}: {one.problem}")
    bare_count = sum(not one.sources and not one.problem for one in found.questions)
    if bare_count:
        note(f"client: {found.path}: {counted(bare_count, 'question')} without sources, which do not take part")
    return LabelledDataset(labelled)
