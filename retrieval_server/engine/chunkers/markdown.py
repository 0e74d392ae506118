"""Markdown by heading: a section is a piece, its breadcrumbs are the chain of headings above it."""

import re
from collections.abc import Iterator, Sequence

from retrieval_server.engine.chunkers.pieces import Piece
from retrieval_server.engine.chunkers.text_lines import lines_of

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FRONT_MATTER_MARKS = frozenset({"---", "+++"})
_BACKTICKS = re.compile(r"`{3,}")
_MAX_FRONT_MATTER_CHARS = 16_384
_FIELD = re.compile(r"[\w\"'][^:=]{0,250}[:=]|#")
# Not a title of several lines, nor a reference.
_TITLE_FIELD = re.compile(r"""^title[ \t]*+[:=][ \t]*+["']?+([^\s>|&*!{\["'][^\r\n]*+)""", re.MULTILINE)


def markdown_pieces(text: str, max_chunk_chars: int) -> list[Piece]:  # noqa: ARG001  the signature of all chunkers
    """Return contiguous pieces that cover `text`, one a section. A heading inside a code fence is only text.

    Front matter goes with what follows it, and its title stands above all headings.
    """
    body_start = front_matter_end(text)
    titled = _TITLE_FIELD.search(text, 0, body_start)
    chain = [(0, titled.group(1).strip("\"' \t"))] if titled else []
    return sections_of(text, 0, body_start, len(text), chain)


def sections_of(text: str, start: int, body_start: int, end: int, chain: list[tuple[int, str]]) -> list[Piece]:
    """Return the pieces of text[start:end]; only what is from `body_start` on is Markdown.

    `chain` is that of the headings (level, title) that are open at the start, and is left as it is at the end.
    """
    pieces: list[Piece] = []
    for offset, level, title in _headings(text, body_start, end):
        if text[max(start, body_start) : offset].strip():
            pieces.append(Piece(start, offset, titles_of(chain)))
            start = offset
        while chain and (chain[-1][0] >= level or chain[-1] == (0, title)):
            chain.pop()
        chain.append((level, title))
    if start < end:
        pieces.append(Piece(start, end, titles_of(chain)))
    return pieces


def titles_of(chain: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """Return breadcrumbs of a chain of headings."""
    return tuple(title for _, title in chain if title)


def front_matter_end(text: str) -> int:
    """Return where YAML (between lines of `---`) or TOML (`+++`) at the start of `text` ends; 0 when there is none."""
    mark = ""
    for number, (offset, line) in enumerate(lines_of(text, 0, min(_MAX_FRONT_MATTER_CHARS, len(text)))):
        if number == 0:
            mark = line.rstrip()
            if mark not in _FRONT_MATTER_MARKS:
                break
        elif line.rstrip() == mark:
            return offset + len(line)
        elif number == 1 and not _FIELD.match(line):
            break  # a rule, not front matter
    return 0


def fenced(code: str, language: str) -> str:
    """Return `code` as a block of Markdown, between fences longer than any in it."""
    fence = "`" * max((3, *(len(run) + 1 for run in _BACKTICKS.findall(code))))
    return f"{fence}{language}\n{code}\n{fence}"


def _headings(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Yield (offset of the heading's first line, level from 1, title) for the headings in text[start:end]."""
    fence = ""
    previous = ""
    previous_offset = 0
    for offset, line in lines_of(text, start, end):
        opened = _FENCE.match(line)
        if fence:
            if opened and opened.group(1).startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            previous = ""
            continue
        if opened:
            fence = opened.group(1)
            previous = ""
            continue
        heading = _HEADING.match(line)
        underline = _UNDERLINE.match(line)
        if heading:
            yield offset, len(heading.group(1)), _title(line[heading.end() :])
            previous = ""
        elif underline and previous.strip() and not previous.lstrip().startswith(("-", "*", ">", "|", "#")):
            yield previous_offset, 1 if underline.group(1)[0] == "=" else 2, previous.strip()
            previous = ""
        else:
            previous = line
            previous_offset = offset


def _title(rest: str) -> str:
    """Return a heading's text without the marks that may close it, as in "## Title ##"."""
    title = rest.strip()
    unmarked = title.rstrip("#")
    return unmarked.rstrip() if not unmarked or unmarked[-1] in " \t" else title
