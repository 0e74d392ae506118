"""A text line by line, with the place of each."""

import re
from collections.abc import Iterator

_LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\r|\n|\Z)")


def lines_of(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, str]]:
    """Yield (offset in `text`, line without what ends it) for each line of text[start:end]; LF, CRLF and CR end lines.

    What follows the last line's end is no line unless there is something.
    """
    for match in _LINE.finditer(text, start, len(text) if end is None else end):
        if match.end() > match.start():
            yield match.start(), match.group(1)
