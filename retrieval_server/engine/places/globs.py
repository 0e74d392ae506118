"""Globs over display paths, as regular expressions whose time no glob can blow up."""

import re
import unicodedata
from functools import lru_cache

MAX_GLOB_CHARS = 1024
_MAX_KNOWN_GLOBS = 1024
_ANY_FOLDERS = "(?:[^/]*/)*"
# Plain letters alone, and none that a mark behind it changes. K, ; and ` have second forms that compare as equal.
_LITERAL_START = re.compile(r"(?:[ -)+-:<->@-JL-Z\]^_a-~](?![^\x00-\x7f]))*")
_REPEATED_STAR = re.compile(r"\*{2,}")


class MalformedGlob(ValueError):
    """A glob that means nothing; the message says what to write instead."""


@lru_cache(_MAX_KNOWN_GLOBS)
def glob_pattern(glob: str) -> re.Pattern[str]:
    """Return the expression that a path, normalised by `comparable_path`, must fully match. Raises MalformedGlob.

    `*` and `?` stay within one part of the path, `**` as a part of its own stands for any number of folders, `[a-z]`
    and `[!a-z]` for one character, a backslash takes the meaning from what follows.

    Whatever is repeated is followed by an atomic group: the first place where a piece fits is as good as any later
    one, so nothing is tried twice.
    """
    if len(glob) > MAX_GLOB_CHARS:
        raise MalformedGlob(f"{len(glob):,} characters, the limit is {MAX_GLOB_CHARS:,}")
    glob = comparable_path(glob)
    parts = glob.split("/")
    _check_parts(glob, parts)
    # `**` splits the parts into groups: the first stands at the start, the last at the end, the others in between.
    groups: list[list[str]] = [[]]
    for part in parts:
        if part == "**":
            groups.append([])
        else:
            groups[-1].append(_part_pattern(part))
    first, *rest = ["".join(f"{part}/" for part in group) for group in groups]
    if not rest:
        return re.compile(first.removesuffix("/"), re.DOTALL)
    *between, _ = rest
    last = "/".join(groups[-1]) or "[^/]+"
    middle = "".join(f"(?>{_ANY_FOLDERS}?{group})" for group in between)
    return re.compile(f"{first}{middle}{_ANY_FOLDERS}{last}", re.DOTALL)


def literal_start(glob: str) -> str:
    """Return what every path that the glob matches begins with, whichever way its letters are composed; maybe ""."""
    literal = _LITERAL_START.match(glob)
    return literal.group() if literal else ""


def comparable_path(path: str) -> str:
    """Return a path in the form in which globs are compared: file systems disagree about composed letters."""
    return path if path.isascii() else unicodedata.normalize("NFC", path)


def _check_parts(glob: str, parts: list[str]) -> None:
    if not glob:
        raise MalformedGlob("is empty")
    if any(ord(char) < ord(" ") for char in glob):
        raise MalformedGlob("holds a control character")
    if glob.endswith("/"):
        raise MalformedGlob(f"names a folder: write {glob}** for all that is in it")
    for at, part in enumerate(parts):
        if part == "" and at > 0:
            raise MalformedGlob("has an empty part between two slashes")
        if part == ".":
            raise MalformedGlob('has a part ".": leave it out')
        if part != "**" and _REPEATED_STAR.search(part.replace("\\*", "")):
            remedy = "/".join(("**", *(_REPEATED_STAR.sub("*", p) for p in parts[at:])))
            raise MalformedGlob(f'"**" must be a part of its own: write {remedy}')


def _part_pattern(part: str) -> str:
    """Return the expression of one part of a path, which holds no "/"."""
    pieces: list[str] = [""]  # what lies between stars
    at = 0
    while at < len(part):
        char = part[at]
        at += 1
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "[^/]"
        elif char == "[":
            end = _class_end(part, at)
            pieces[-1] += _class_pattern(part[at:end])
            at = end + 1
        elif char == "\\":
            if at == len(part):
                raise MalformedGlob("ends in a backslash that escapes nothing")
            pieces[-1] += re.escape(part[at])
            at += 1
        else:
            pieces[-1] += re.escape(char)
    if len(pieces) == 1:
        return pieces[0]
    first, *between, last = pieces
    return first + "".join(f"(?>[^/]*?{piece})" for piece in between) + "[^/]*" + last + "(?![^/])"


def _class_end(part: str, start: int) -> int:
    """Return where the "]" is that ends the class whose "[" is before `start`; a "]" right at the start is a member."""
    first = start + 1 if part.startswith("!", start) else start
    end = part.find("]", first + 1)
    if end < 0:
        raise MalformedGlob('has a "[" without its "]": write \\[ for the character itself')
    return end


def _class_pattern(members: str) -> str:
    negated = members.startswith("!")
    body = members.removeprefix("!")
    made = ""
    at = 0
    while at < len(body):
        if body[at + 1 : at + 2] == "-" and at + 2 < len(body):
            low, high = body[at], body[at + 2]
            if low > high:
                raise MalformedGlob(f"has a range that falls: [{low}-{high}]")
            made += f"{re.escape(low)}-{re.escape(high)}"
            at += 3
        else:
            made += re.escape(body[at])
            at += 1
    return f"(?!/)[^{made}]" if negated else f"(?!/)[{made}]"
