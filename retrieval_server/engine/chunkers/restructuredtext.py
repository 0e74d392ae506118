"""reStructuredText by heading, and by what a long section describes, such as classes and settings.

Titles are told by their under- and overlines, and each new style of these is a level deeper. Everything indented, such
as literal blocks and the content of directives, is no title.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrieval_server.engine.chunkers.entries import MAX_DEPTH, Entry, pieces_of_entries
from retrieval_server.engine.chunkers.pieces import Piece
from retrieval_server.engine.chunkers.rst_markup import (
    LEADING_DIRECTIVES,
    LITERAL_DIRECTIVES,
    Directive,
    adornment_of,
    directive_of,
    leads_to_title,
    underlines,
)
from retrieval_server.engine.chunkers.text_lines import lines_of

_Lines = Sequence[tuple[int, str]]


def restructuredtext_pieces(text: str, max_chunk_chars: int) -> list[Piece]:
    """Return contiguous pieces that cover `text`: one a section, or one for each object that a section describes.

    A title with nothing below it but a deeper title goes with that one. An object too large for a chunk is in the
    breadcrumbs of its parts; none lends a piece its name, since names are for definitions, and those are in code.
    """
    lines = list(lines_of(text))
    pieces: list[Piece] = []
    start = 0
    sections = list(_sections(lines))
    for section, after in zip(sections, (*sections[1:], None), strict=True):
        if after is not None and section.is_bare and after.level > section.level:
            continue
        end = lines[after.first_line][0] if after else len(text)
        entries = _objects_in(lines[section.body_line : after.first_line if after else len(lines)])
        for piece in pieces_of_entries(entries, start, end, section.titles, max_chunk_chars):
            is_cut = piece.name and piece.end - piece.start > max_chunk_chars
            breadcrumbs = (*piece.breadcrumbs, piece.name) if is_cut else piece.breadcrumbs
            pieces.append(Piece(piece.start, piece.end, breadcrumbs))
        start = end
    return pieces


@dataclass(frozen=True, slots=True)
class _Title:
    text: str
    style: tuple[str, bool]
    line_count: int


@dataclass(slots=True)
class _Section:
    """Lines from `first_line` (labels above the title) on; the text below the title begins at `body_line`."""

    first_line: int
    body_line: int
    level: int
    titles: tuple[str, ...]
    is_bare: bool = True


def _sections(lines: _Lines) -> Iterator[_Section]:
    """Yield the sections, the first of which is what stands above all titles."""
    styles: list[tuple[str, bool]] = []
    chain: list[tuple[int, str]] = []
    section = _Section(0, 0, -1, ())
    at = 0
    while at < len(lines):
        title = _title_at(lines, at)
        if title is None:
            at += 1
            continue
        if title.style not in styles:
            styles.append(title.style)
        level = styles.index(title.style)
        while chain and chain[-1][0] >= level:
            chain.pop()
        chain.append((level, title.text))
        first_line = _lead_line(lines, section.body_line, at, title.text)
        section.is_bare = not any(line.strip() for _, line in lines[section.body_line : first_line])
        yield section
        at += title.line_count
        section = _Section(first_line, at, level, tuple(text for _, text in chain), is_bare=False)
    yield section


def _title_at(lines: _Lines, at: int) -> _Title | None:
    """Return the title whose first line is that at `at`."""
    line, below, second_below = (lines[i][1] if i < len(lines) else "" for i in range(at, at + 3))
    mark = adornment_of(line)
    if mark:
        title = below.strip()
        is_title = title and adornment_of(second_below) == mark and underlines(second_below, title)
        return _Title(title, (mark, True), 3) if is_title else None
    mark = adornment_of(below)
    if not mark or not line.strip() or line[0] in " \t" or line.startswith(".. ") or not underlines(below, line):
        return None
    above = lines[at - 1][1] if at else ""
    begins_block = not above.strip() or above.startswith(("..", " ", "\t")) or adornment_of(above)
    return _Title(line.strip(), (mark, False), 2) if begins_block else None


def _lead_line(lines: _Lines, floor: int, title_line: int, title: str) -> int:
    """Return the first line of what stands right above a title and belongs to it, such as its labels."""
    lead = at = title_line
    while at > floor:
        at -= 1
        line = lines[at][1]
        if not line.strip() or line[0] in " \t":
            continue
        directive = directive_of(line)
        if not leads_to_title(line) and not (directive and _concerns(directive, title, lines[at + 1 : lead])):
            break
        lead = at
    return lead


def _concerns(directive: Directive, title: str, body: _Lines) -> bool:
    """Tell whether a directive is about the title below it, as a project's own may be that names the same thing."""
    if directive.name in LEADING_DIRECTIVES:
        return True
    is_bare = not any(line.strip() for _, line in body)
    return is_bare and directive.is_own_mark and directive.object_name.lower() in title.lower()


def _objects_in(lines: _Lines) -> list[Entry]:
    """Return what is described in `lines`, nested as it is indented, with entries for the text between."""
    entries: list[Entry] = []
    enclosing: list[tuple[int, Entry]] = []
    literal_indent: int | None = None
    mark: Entry | None = None
    for start, line in lines:
        body = line.strip()
        indent = len(line) - len(line.lstrip())
        if not body or (literal_indent is not None and indent > literal_indent):
            continue
        directive = directive_of(line)
        name = directive.object_name if directive else ""
        is_literal = directive.name in LITERAL_DIRECTIVES if directive else body.endswith("::")
        literal_indent = indent if is_literal else None
        ends_object = bool(enclosing) and enclosing[-1][0] >= indent
        while enclosing and enclosing[-1][0] >= indent:
            enclosing.pop()
        siblings = enclosing[-1][1].children if enclosing else entries
        above, mark = mark, None
        if name and above is not None and siblings and siblings[-1] is above:
            above.name = name  # a bare mark is about the object below it
            enclosing.append((indent, above))
        elif name and len(enclosing) < MAX_DEPTH:
            siblings.append(Entry(start, name))
            enclosing.append((indent, siblings[-1]))
            mark = siblings[-1] if directive and directive.is_own_mark else None
        elif ends_object:
            siblings.append(Entry(start))
    return entries
