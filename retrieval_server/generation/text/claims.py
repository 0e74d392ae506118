"""The words of a sentence that must stand in a source to be believed: identifiers and numbers."""

import re
from collections.abc import Iterable
from copy import copy

from retrieval_server.model import Passage

# Possessive quantifiers ("++") keep every pattern linear: documents and models may be hostile.

# A model's own reference to source n: "[1]", "[2, 3]".
MARKER = re.compile(r"\[(\d{1,4}(?:\s?,\s?\d{1,4}){0,15})\]")

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d[\d_]*)(?:\.\d+)*")
_WRITTEN = re.compile(r"(?:--)?[A-Za-z_]\w*(?:[.:-]+\w+)*")
_LIST_NUMBER = re.compile(r"\s*\d{1,4}[.)]\s")
_CODE = re.compile(r"(?<!`)`++([^`\n]++)`")
# "--dry-run", and in code "git-annex": made of held words they may still be made up.
_FLAG = re.compile(r"(?<![\w-])--([A-Za-z]\w*+(?:-\w++)*+)")
_COMPOUND = re.compile(r"(?<!\w)\w++(?:-\w++)++")
# Said of code they are values, as numbers are.
_LITERAL = re.compile(r"(?<![\w.])(?:None|True|False)(?![\w])")
_LITERAL_WORDS = frozenset(("none", "true", "false"))
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s\Z")
_INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")


class Claims:
    """What a sentence claims: each claim is one word or number that a source must hold."""

    def __init__(self, sentence: str) -> None:
        text = MARKER.sub(" ", _LIST_NUMBER.sub(" ", sentence, count=1) if _LIST_NUMBER.match(sentence) else sentence)
        self.words = frozenset(_identifiers(text))
        self.numbers = frozenset(_numbers(text))

    def without(self, other: "Claims") -> "Claims":
        """Return what this claims and `other` does not."""
        left = copy(self)
        left.words -= other.words
        left.numbers -= other.numbers
        return left

    def values(self) -> frozenset[str]:
        """Return the numbers and literals among the claims."""
        return self.numbers | (self.words & _LITERAL_WORDS)

    def __bool__(self) -> bool:
        return bool(self.words or self.numbers)


class HeldWords:
    """Every word and number of some texts, which a model may repeat."""

    def __init__(self, *texts: str) -> None:
        self.words: set[str] = set()
        self.numbers: set[str] = set()
        for text in texts:
            self.words.update(word.casefold() for word in _WORD.findall(text))
            self.words.update(compound.casefold() for compound in _COMPOUND.findall(text))
            self.numbers.update(_numbers(text))

    @classmethod
    def of_passage(cls, passage: Passage) -> "HeldWords":
        """Return those of a passage, with its path and breadcrumbs."""
        return cls(passage.text, passage.path, *passage.breadcrumbs)


def holds_value(line: str, value: str) -> bool:
    """Tell whether a number or literal, as `Claims.values` has it, stands in a line."""
    return value in _numbers(line) or value in {word.casefold() for word in _LITERAL.findall(line)}


def identifiers_as_written(text: str) -> list[str]:
    """Return the identifiers of `text`, each once, in order, as they are written: with their dots and dashes."""
    found: dict[str, None] = {}
    for match in _WRITTEN.finditer(text):
        written = match.group()
        if written not in found and (text[match.start() - 1 : match.start()] == "`" or any(_identifiers(written))):
            found[written] = None
    return list(found)


def are_held(claims: Claims, sources: Iterable[HeldWords]) -> bool:
    """Return whether each claim stands in some of the sources."""
    missing_words, missing_numbers = claims.words, claims.numbers
    for held in sources:
        missing_words -= held.words
        missing_numbers -= held.numbers
    return not missing_words and not missing_numbers


def _numbers(text: str) -> Iterable[str]:
    return (number.group().replace(",", "").replace("_", "") for number in _NUMBER.finditer(text))


def _identifiers(text: str) -> Iterable[str]:
    for code in _CODE.finditer(text):
        for word in (*_WORD.findall(code.group(1)), *_COMPOUND.findall(code.group(1))):
            if not word[0].isdigit():
                yield word.casefold()
    for literal in _LITERAL.findall(text):
        yield literal.casefold()
    for flag in _FLAG.findall(text):
        yield flag.casefold()
    for match in _WORD.finditer(text):
        word = match.group()
        if not word[0].isdigit() and _looks_like_identifier(word, text, match.start(), match.end()):
            yield word.casefold()


def _looks_like_identifier(word: str, text: str, start: int, end: int) -> bool:
    if _PLURAL_ACRONYM.match(word):
        return False
    if "_" in word.strip("_") or any(character.isdigit() for character in word) or _INNER_CAPITAL.search(word):
        return True
    if text[end : end + 1] == "(":
        return True
    # "queue.put" and "path::name", but neither "e.g." nor the end of a sentence
    after_dot = text[start - 1 : start] == "." and text[start - 2 : start - 1].isalnum()
    before_dot = text[end : end + 1] == "." and text[end + 1 : end + 2].isalpha()
    scoped = text[end : end + 2] == "::" or text[max(start - 2, 0) : start] == "::"
    return len(word) > 1 and (after_dot or before_dot or scoped)
