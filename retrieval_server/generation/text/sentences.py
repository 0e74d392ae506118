"""Text to sentences, for answers and for passages: aware of code, lists, abbreviations and numbers with dots.

Every scan is linear in the text, since what a model or a document holds may be hostile.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator

LINE_BREAK = re.compile(r"\r\n|\r|\n")

_END = re.compile(r"[.!?…]+|[。！？]+")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
# A list item, a heading, a quotation or a table row begins a block of its own.
_BLOCK_START = re.compile(r"[ \t]*(?:[-*+•][ \t]|\d{1,4}[.)][ \t]|#{1,6}[ \t]|>|\|)")
_ONE_LINE_BLOCK = re.compile(r"[ \t]*(?:#{1,6}[ \t]|\|)")
_BACKTICKS = re.compile(r"`+")
_CLOSERS = "\"'”’»)]}*_`"
_MAX_TOKEN_CHARS = 16
_ABBREVIATIONS = frozenset(
    re.findall(r"\S+", "e.g i.e etc vs cf fig figs dr mr mrs ms prof st approx al resp ca ver vol eq sec inc ltd eg ie")
)


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence, in order, without the white space around it.

    Inside fenced code every line counts as a sentence; the fence lines themselves are left out.
    """
    sentences: list[tuple[int, int]] = []
    for start, end in _blocks(text):
        sentences.extend(_split_block(text, start, end))
    return sentences


def line_spans(text: str) -> list[tuple[int, int]]:
    r"""Return (start, end) of each line without its break; \r\n, \r and \n each end a line."""
    spans: list[tuple[int, int]] = []
    start = 0
    for line_break in LINE_BREAK.finditer(text):
        spans.append((start, line_break.start()))
        start = line_break.end()
    spans.append((start, len(text)))
    return spans


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    fenced = False
    block: tuple[int, int] | None = None
    for start, end in line_spans(text):
        fence = _FENCE.match(text, start, end)
        blank = not text[start:end].strip()
        if block and (fence or blank or _BLOCK_START.match(text, start, end)):
            yield block
            block = None
        if fence:
            fenced = not fenced
        elif fenced or _ONE_LINE_BLOCK.match(text, start, end):
            yield start, end
        elif not blank:
            block = (block[0] if block else start, end)
    if block:
        yield block


def _split_block(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    code_spans = _code_spans(text, start, end)
    code_starts = [span[0] for span in code_spans]
    begin = start
    for mark in _END.finditer(text, start, end):
        stop = mark.end()
        while stop < end and text[stop] in _CLOSERS:
            stop += 1
        if stop <= begin or not _is_boundary(text, begin, mark, stop, end):
            continue
        nearest = bisect_right(code_starts, mark.start()) - 1
        if nearest >= 0 and mark.start() < code_spans[nearest][1]:
            continue
        yield from _trimmed(text, begin, stop)
        begin = stop
    yield from _trimmed(text, begin, end)


def _is_boundary(text: str, begin: int, mark: re.Match[str], stop: int, end: int) -> bool:
    if mark.group()[0] in "。！？" or stop == end:
        return True
    if not text[stop].isspace():
        return False
    following = stop
    while following < end and text[following].isspace():
        following += 1
    if following < end and text[following].islower():
        return False
    if mark.group() != ".":
        return True
    words_before = text[max(begin, mark.start() - _MAX_TOKEN_CHARS) : mark.start()].split()
    token = words_before[-1].lstrip("([\"'*_").lower() if words_before else ""
    is_initial = len(token) == 1 and token.isalpha()
    is_list_number = token.isdigit() and not text[begin : mark.start()].strip()[len(token) :]
    return not (token in _ABBREVIATIONS or is_initial or is_list_number)


def _code_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    runs = [(run.start(), run.end()) for run in _BACKTICKS.finditer(text, start, end)]
    next_of_length: dict[int, int] = {}
    closing = [-1] * len(runs)
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        closing[index] = next_of_length.get(length, -1)
        next_of_length[length] = index
    spans: list[tuple[int, int]] = []
    index = 0
    while index < len(runs):
        if closing[index] < 0:
            index += 1
            continue
        spans.append((runs[index][0], runs[closing[index]][1]))
        index = closing[index] + 1
    return spans


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end
