"""The pieces of a passage that can stand as an answer by themselves: sentences, lists, commands, statements, comments.

Every scan is linear in the text, since documents may be hostile.
"""

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from retrieval_server.generation.text.sentences import line_spans, split_sentences
from retrieval_server.model import ContentKind, Passage

_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_HEADING = re.compile(r"[ \t]*(?:#{1,6}[ \t]|[=~^*+-]{3,}[ \t]*\Z|\.\.[ \t])")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]")
_COMMENT = re.compile(r"[ \t]*(?:#|//|/\*|\*)")
_COMMENT_MARK = re.compile(r"[ \t]*(?:#+!?|//+!?|/\*+!?|\*+/?)")
_SIGNATURE = re.compile(
    r"[ \t]*(?:export[ \t]+|pub[ \t]+|public[ \t]+|async[ \t]+|template\b.*)*"
    r"(?:def|class|func|fn|function|struct|interface|enum|impl|trait|type)[ \t]+\w"
)
_DOCSTRING = re.compile(r"\"\"\"|\'\'\'")
_MAX_UNIT_CHARS = 600
_MAX_STATEMENT_LINES = 12
_MIN_LIST_ITEMS = 2


class UnitKind(Enum):
    """What a unit is."""

    SENTENCE = "sentence"
    HEADING = "heading"
    ITEM = "item"
    LIST = "list"
    COMMAND = "command"
    COMMENT = "comment"
    SIGNATURE = "signature"
    STATEMENT = "statement"


@dataclass(frozen=True, slots=True)
class Unit:
    """`text[start:end]` of a passage, at most 600 characters."""

    start: int
    end: int
    kind: UnitKind


def units_of(passage: Passage) -> list[Unit]:
    """Return the units of a passage in the order in which they begin; lists come with their items."""
    found = _prose(passage.text) if passage.kind is ContentKind.DOCS else _code(passage.text)
    return sorted(found, key=lambda unit: (unit.start, -unit.end))


def is_signature(line: str) -> bool:
    """Tell whether a line begins the definition of a function or type."""
    return _SIGNATURE.match(line) is not None


def _prose(text: str) -> Iterator[Unit]:
    commands = [*_fenced(text)]
    yield from commands
    items: list[Unit] = []
    fence = iter([*commands, Unit(len(text), len(text) + 1, UnitKind.COMMAND)])
    current = next(fence)
    for start, end in _joined_commands(text, split_sentences(text)):
        while start >= current.end:
            current = next(fence)
        if start >= current.start:
            continue
        kind = UnitKind.SENTENCE
        if _HEADING.match(text, start, end):
            kind = UnitKind.HEADING
        elif _ITEM.match(text, start, end):
            kind = UnitKind.ITEM
        for unit in _short(text, start, end, kind):
            yield unit
            if kind is UnitKind.ITEM:
                items.append(unit)
    yield from _lists(text, items)


def _fenced(text: str) -> Iterator[Unit]:
    opened: int | None = None
    spans = line_spans(text)
    for line, (start, end) in enumerate(spans):
        if not _FENCE.match(text, start, end):
            continue
        if opened is None:
            opened = line
            continue
        if opened + 1 < line and spans[line - 1][1] - spans[opened + 1][0] <= _MAX_UNIT_CHARS:
            inside = Unit(spans[opened + 1][0], spans[line - 1][1], UnitKind.COMMAND)
            if text[inside.start : inside.end].strip():
                yield inside
        opened = None


def _joined_commands(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join the lines of a command that goes on after a backslash."""
    begin: int | None = None
    for start, end in spans:
        begin = start if begin is None else begin
        if not text.endswith("\\", start, end):
            yield begin, end
            begin = None
    if begin is not None:
        yield begin, spans[-1][1]


def _lists(text: str, items: Sequence[Unit]) -> Iterator[Unit]:
    run: list[Unit] = []
    for item in (*items, None):
        if item and run and item.end - run[0].start <= _MAX_UNIT_CHARS and not text[run[-1].end : item.start].strip():
            run.append(item)
            continue
        if len(run) >= _MIN_LIST_ITEMS:
            yield Unit(run[0].start, run[-1].end, UnitKind.LIST)
        run = [item] if item else []


def _short(text: str, start: int, end: int, kind: UnitKind) -> Iterator[Unit]:
    if end - start <= _MAX_UNIT_CHARS:
        yield Unit(start, end, kind)
        return
    for line_start, line_end in line_spans(text[start:end]):
        if text[start + line_start : start + line_end].strip():
            yield Unit(start + line_start, start + min(line_end, line_start + _MAX_UNIT_CHARS), kind)


def _code(text: str) -> Iterator[Unit]:
    spans = line_spans(text)
    line = 0
    while line < len(spans):
        start, end = spans[line]
        if not text[start:end].strip():
            line += 1
        elif _DOCSTRING.search(text, start, end):
            line = yield from _docstring(text, spans, line)
        elif _COMMENT.match(text, start, end):
            last = line
            while last + 1 < len(spans) and _COMMENT.match(text, *spans[last + 1]):
                last += 1
            yield from _comment(text, _first_letter(text, start), spans[last][1])
            line = last + 1
        else:
            last = _statement_end(text, spans, line)
            kind = UnitKind.SIGNATURE if _SIGNATURE.match(text, start, end) else UnitKind.STATEMENT
            end = spans[last][1]
            if kind is UnitKind.SIGNATURE and last + 1 < len(spans) and _DOCSTRING.search(text, *spans[last + 1]):
                end = spans[last + 1][1]  # what the first line of its docstring says of it
            yield from _short(text, start, end, kind)
            if kind is UnitKind.STATEMENT and text[start : spans[last][1]].rstrip().endswith((":", "{")):
                # A condition says little without what it leads to.
                body = _statement_end(text, spans, min(last + 1, len(spans) - 1))
                if spans[body][1] - start <= _MAX_UNIT_CHARS:
                    yield Unit(start, spans[body][1], UnitKind.STATEMENT)
            line = last + 1


def _comment(text: str, start: int, end: int) -> Iterator[Unit]:
    """Yield a comment, or its sentences when it is long, whatever marks of its lines stand within them."""
    if end - start <= _MAX_UNIT_CHARS:
        yield Unit(start, end, UnitKind.COMMENT)
        return
    lines = line_spans(text[start:end])
    unmarked = list(text[start:end])
    for line_start, line_end in lines:
        mark = _COMMENT_MARK.match(text, start + line_start, start + line_end)
        if mark is not None:
            unmarked[line_start : mark.end() - start] = " " * (mark.end() - start - line_start)
    for first, last in split_sentences("".join(unmarked)):
        yield from _short(text, start + first, start + last, UnitKind.COMMENT)


def _docstring(text: str, spans: Sequence[tuple[int, int]], line: int) -> Generator[Unit, None, int]:
    last = line
    quotes = len(_DOCSTRING.findall(text, *spans[line]))
    while quotes % 2 and last + 1 < len(spans):
        last += 1
        quotes += len(_DOCSTRING.findall(text, *spans[last]))
    offset = spans[line][0]
    for start, end in split_sentences(text[offset : spans[last][1]]):
        yield from _short(text, offset + start, offset + end, UnitKind.COMMENT)
    return last + 1


def _statement_end(text: str, spans: Sequence[tuple[int, int]], line: int) -> int:
    """Return the last line of the statement that begins at `line`: where its brackets are closed."""
    depth = 0
    for last in range(line, min(line + _MAX_STATEMENT_LINES, len(spans))):
        held = text[spans[last][0] : spans[last][1]]
        depth += sum(map(held.count, "([{")) - sum(map(held.count, ")]}"))
        if depth <= 0 or (last == line and held.rstrip().endswith("{")):
            return last
    return line


def _first_letter(text: str, start: int) -> int:
    while text[start] in " \t":
        start += 1
    return start
