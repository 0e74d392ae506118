"""What is embedded of code: what its comments say, as they say it, then its names split into words.

MiniLM was trained on natural language. A docstring or a comment is that already, and a question that quotes no
identifier is nearest to it; the rest of the code is reduced to the words in its identifiers.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from retrieval_server.engine.words.analyser import MAX_TERM_CHARS, identifier_parts
from retrieval_server.engine.words.stop_words import STOP_WORDS

# Docstrings, block comments, line comments; not the preprocessor's lines, attributes, anchors or "://" of an address.
# Each begins with a character, and what must not stand before it is asked behind that: `re` then skips to these few.
_UNBLOCKED = (
    r'"""(.*?)"""'
    r"|'''(.*?)'''"
    r"|//(?<![:\w/]//)/?(?!/)([^\n]*)"
    r"|\#(?<![\w&'\"]\#)(?!include|define|undef|if|el|endif|pragma|error|line|[!\[{(])([^\n]*)"
)
_UNBLOCKED_COMMENT = re.compile(_UNBLOCKED, re.DOTALL)
_COMMENT = re.compile(rf"{_UNBLOCKED}|/\*(.*?)\*/|(?P<unclosed>/\*)", re.DOTALL)
_WORD = re.compile(r"[^\W\d]\w*")
_KEYWORDS_TEXT = """
    and as assert async auto await bool break case catch char class const constexpr continue def default del delete
    do double elif else end enum except export extends extern false final finally float fn for from func function if
    impl implements import in include inline int interface is lambda let long mut namespace new nil none nonlocal not
    null or package pass private protected pub public raise return self short signed sizeof static str struct super
    switch template this throw throws true try type typedef typename union unsigned use using var virtual void
    while with yield"""
_LEFT_OUT = STOP_WORDS.union(_KEYWORDS_TEXT.split())
# Source code repeats few words many times.
_REMEMBERED_WORDS = 50_000


class WindowSize(NamedTuple):
    """How much of a chunk is embedded: words of its comments, parts of its names, parts where it has no comment.

    The first words name what a chunk is about; the last of a long one mostly cost time, and time is what bounds
    indexing.
    """

    comment_words: int
    parts: int
    parts_alone: int


WHOLE = WindowSize(comment_words=28, parts=20, parts_alone=40)
# A test is rarely the answer, and its name says what it is about.
BRIEF = WindowSize(comment_words=12, parts=16, parts_alone=24)


def code_window(file_name: str, breadcrumbs: Sequence[str], text: str, size: WindowSize = WHOLE) -> str:
    """Return the text to embed for a chunk of code; "" when nothing in it tells what it is about."""
    said = (word for match in _comments(text) for word in _commented_words(match) if word)
    comments = list(islice(said, size.comment_words))
    if not comments:
        return skeleton(" ".join((file_name, *breadcrumbs, text)), size)
    header = tuple(_telling_parts((" ".join((file_name, *breadcrumbs)),)))
    known = {part for word in comments for part in identifier_parts(word)}.union(header)
    named = (part for part in _telling_parts(_between_comments(text)) if part not in known)
    return " ".join((*header, *comments, *islice(named, size.parts)))


def skeleton(text: str, size: WindowSize = WHOLE) -> str:
    """Identifiers and words in parts, each once, by first appearance, without what says little."""
    return " ".join(islice(_telling_parts((text,)), size.parts_alone))


def _comments(text: str) -> Iterator["re.Match[str]"]:
    """Yield the comments; behind a "/*" that nothing closes nothing closes another, and each would look to the end."""
    for match in _COMMENT.finditer(text):
        if match["unclosed"]:
            yield from _UNBLOCKED_COMMENT.finditer(text, match.start())
            return
        yield match


def _commented_words(comment: "re.Match[str]") -> list[str]:
    return [word.strip("#*/!<>=-") for group in comment.groups() if group for word in group.split()]


def _between_comments(text: str) -> Iterator[str]:
    end = 0
    for match in _comments(text):
        yield text[end : match.start()]
        end = match.end()
    yield text[end:]


def _telling_parts(texts: Iterable[str]) -> Iterator[str]:
    """Yield each part once; what is not asked for is not even read, which is most of a long chunk."""
    seen: set[str] = set()
    for text in texts:
        for match in _WORD.finditer(text):
            for part in _telling_parts_of(match.group()):
                if part not in seen:
                    seen.add(part)
                    yield part


def _telling_parts_of(word: str) -> tuple[str, ...]:
    # Blobs do not come again, and their parts would take gigabytes.
    return _remembered_parts_of(word) if len(word) <= MAX_TERM_CHARS else _parts_of(word)


@lru_cache(maxsize=_REMEMBERED_WORDS)
def _remembered_parts_of(word: str) -> tuple[str, ...]:
    return _parts_of(word)


def _parts_of(word: str) -> tuple[str, ...]:
    return tuple(p for p in identifier_parts(word) if p not in _LEFT_OUT and len(p) > 1 and not p.isdecimal())
