"""What a question is about, word by word, and whether a passage holds it.

A word is held in any spelling: `ModelRunner` by `model_runner.py`. Names are not said in other words, plain words are.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from retrieval_server.engine.analyser import analyse_terms
from retrieval_server.engine.question_vocabulary import QUESTION_TERMS
from retrieval_server.engine.stop_words import STOP_TERMS

_WORD = re.compile(r"[^\s,;:?!()\[\]\"“”]+")
_AROUND = ".`'’*-"
_CLITIC = re.compile(r"(?:n['’]t|['’](?:s|m|re|ve|ll|d))$", re.IGNORECASE)
_CONTRACTION = re.compile(r"I['’]")
_SENTENCE_START = re.compile(r"(?:^|[.?!:]\s+|[\"“(]\s*)$")
_NOT_LETTERS = re.compile(r"[\W_]+")
# Written as code is: joined by "_", with a capital inside, or letters and digits in one.
_IDENTIFIER = re.compile(r"\w_\w|[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[^\W\d_]\d|\d[^\W\d_]")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")
# Shorter names are found inside of too many others.
_MIN_COMPACT_CHARS = 4


class Held(Protocol):
    """The words of a passage, with those of its path and breadcrumbs."""

    def terms(self, asked: frozenset[str]) -> frozenset[str]:
        """Return those of the `asked` index terms that stand in it."""

    def compact(self) -> str:
        """Return its text as `compacted` does."""


@dataclass(frozen=True, slots=True)
class AskedWord:
    """A word of a question with its index terms, function words left out; `is_name` if it is an identifier or so."""

    text: str
    terms: frozenset[str]
    is_name: bool

    def is_held(self, held: Held) -> bool:
        """Tell whether a passage holds all of the word's terms, or the word spelt in another way."""
        if held.terms(self.terms) == self.terms:
            return True
        compact = compacted(self.text)
        # A plain word that is part of another one is not that word.
        return self.is_name and len(compact) >= _MIN_COMPACT_CHARS and compact in held.compact()


def compacted(text: str) -> str:
    """Return the letters and digits of `text`, case-folded."""
    return _NOT_LETTERS.sub("", text.casefold())


def asked_words(question: str) -> tuple[AskedWord, ...]:
    """Return the words of a question, in order, that are not what questions are made of; all when none is left."""
    words = []
    for match in _WORD.finditer(question):
        text = _CLITIC.sub("", match.group().strip(_AROUND))
        terms = frozenset(analyse_terms(text)) - STOP_TERMS
        if terms:
            words.append(AskedWord(text, terms, _is_name(text, question[: match.start()])))
    telling = [word for word in words if word.is_name or not word.terms <= QUESTION_TERMS]
    return tuple(telling or words)


def names_nowhere(words: Sequence[AskedWord], passages: Sequence[Held]) -> bool:
    """Tell whether some name among `words` stands in none of `passages`."""
    return any(word.is_name and not any(word.is_held(held) for held in passages) for word in words)


def _is_name(text: str, before: str) -> bool:
    if _IDENTIFIER.search(text) and not _PLURAL_ACRONYM.fullmatch(text):
        return True
    is_capital = len(text) > 1 and text[0].isupper() and not _CONTRACTION.match(text)
    return is_capital and not _SENTENCE_START.search(before)
