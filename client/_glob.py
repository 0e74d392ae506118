"""Patterns of .gitignore as regular expressions that take time linear in a path, whatever the pattern.

A tree brings its own ignore files, so a pattern may be anything. Each part after a wildcard is matched where it first
can be, for good (an atomic group): a later place could not lead to a match that an earlier one does not. "?" and a
bracket take a character, where git takes a byte.
"""

import re
from typing import NamedTuple

_ANY_FOLDERS = "**"
_ENDS = r"(?:(?P<ps_d>/)|\Z)"
_ENDS_FOLDER = "(?P<ps_d>/)"
_NO_CHARACTER = "(?!)"
_POSIX_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r" \t-\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class _Item(NamedTuple):
    """One thing of a bracket: a character, or the range of a class, as it stands in a regular expression."""

    character: str
    posix_ranges: str
    end: int


def regex_of(pattern: str) -> str | None:
    """Return what searches a path, relative to the ignore file, for a pattern without its "!"; None if none can match.

    The group `ps_d` takes part when the pattern matched a folder that the path is below, or is (it then ends in "/").
    """
    is_for_folders = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    segments = _segments(pattern.removeprefix("/"))
    if segments is None:
        return None
    if "/" not in pattern:
        segments.insert(0, _ANY_FOLDERS)
    runs: list[list[str]] = [[]]
    for segment in segments:
        if len(segment) > 1 and not segment.strip("*"):
            runs.append([])
            continue
        regex = _segment(segment)
        if regex is None:
            return None
        runs[-1].append(regex)
    reaches_inside = len(runs) > 1 and not runs[-1]
    first, *rest = ["/".join(run) for run in runs]
    rest = [run for run in rest if run]
    if not first and not rest:
        return rf"(?s)\A.*{_ENDS_FOLDER}" if is_for_folders else r"(?s)\A."
    if reaches_inside:
        end = f"/.+{_ENDS_FOLDER}" if is_for_folders else "/."
    else:
        end = _ENDS_FOLDER if is_for_folders else _ENDS
    for run in rest[:-1]:
        first += f"{'/' if first else ''}(?>(?:.+?/)??{run}(?=/))"
    for run in rest[-1:]:
        first += f"{'/' if first else ''}(?:.+/)?{run}"
    return rf"(?s)\A{first}{end}"


def _segments(pattern: str) -> list[str] | None:
    """Return what stands between slashes, of which one in a bracket is none; None when a bracket is malformed."""
    segments = [""]
    at = 0
    while at < len(pattern):
        start, char = at, pattern[at]
        at += 1
        if char == "\\":
            at += 1
        elif char == "[":
            bracket = _bracket(pattern, at)
            if bracket is None:
                return None
            at = bracket[1]
        if pattern[start:at] in {"/", "\\/"}:
            segments.append("")
        else:
            segments[-1] += pattern[start:at]
    return segments


def _segment(segment: str) -> str | None:
    """Return what matches one name; None when the segment is malformed."""
    if not segment:
        return None
    pieces = [""]
    at = 0
    while at < len(segment):
        char = segment[at]
        at += 1
        if char == "*":
            if pieces[-1] or len(pieces) == 1:
                pieces.append("")
        elif char == "?":
            pieces[-1] += "[^/]"
        elif char == "[":
            bracket = _bracket(segment, at)
            if bracket is None:
                return None
            regex, at = bracket
            pieces[-1] += regex
        elif char == "\\":
            if at == len(segment):
                return None
            pieces[-1] += re.escape(segment[at])
            at += 1
        else:
            pieces[-1] += re.escape(char)
    first, *middle, last = pieces if len(pieces) > 1 else (*pieces, "")
    if len(pieces) == 1:
        return first
    if pieces == ["", ""]:
        return "[^/]+"
    return f"{first}{''.join(f'(?>[^/]*?{piece})' for piece in middle)}[^/]*{last}"


def _bracket(segment: str, at: int) -> tuple[str, int] | None:
    """Return what matches the character that a bracket stands for, and where it ends; None when it does not."""
    is_negated = segment[at : at + 1] in {"!", "^"}
    start = at = at + is_negated
    ranges = ""
    while at < len(segment) and (segment[at] != "]" or at == start):
        low = _item(segment, at)
        if low is None:
            return None
        at = low.end
        high = low
        if segment[at : at + 1] == "-" and segment[at + 1 : at + 2] not in {"", "]"} and low.character:
            if (after := _item(segment, at + 1)) is None:
                return None
            high, at = after, after.end
        if low.posix_ranges or high.posix_ranges:
            ranges += low.posix_ranges + high.posix_ranges
        else:  # of a range that falls, git takes where it begins
            last = high if low.character <= high.character else low
            ranges += f"{re.escape(low.character)}-{re.escape(last.character)}"
    if at >= len(segment):
        return None
    if is_negated:
        return f"[^/{ranges}]", at + 1
    return (f"(?!/)[{ranges}]" if ranges else _NO_CHARACTER), at + 1


def _item(segment: str, at: int) -> _Item | None:
    if segment.startswith("[:", at) and (end := segment.find(":]", at)) >= 0:
        ranges = _POSIX_CLASSES.get(segment[at + 2 : end])
        return None if ranges is None else _Item("", ranges, end + 2)
    if segment[at] == "\\":
        return _Item(segment[at + 1], "", at + 2) if at + 1 < len(segment) else None
    return _Item(segment[at], "", at + 1)
