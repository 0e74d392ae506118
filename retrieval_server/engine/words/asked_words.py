"""What a question is about, word by word, and whether a passage holds it.

A word is held in any spelling: `ModelRunner` by `model_runner.py`. Names are not said in other words, plain words are.
Chinese and Japanese have no spaces between words, and Korean ends its words by what they do in the sentence: there, two
characters that follow each other are a word.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from retrieval_server.engine.words.analyser import CJK_RUN, analyse_terms
from retrieval_server.engine.words.other_languages import function_words
from retrieval_server.engine.words.question_vocabulary import QUESTION_TERMS
from retrieval_server.engine.words.stop_words import STOP_TERMS

_WORD = re.compile(r"[^\s,;:?!¿¡()\[\]\"“”„«»]+")
_AROUND = ".`'’*-"
_CLITIC = re.compile(r"(?:n['’]t|['’](?:s|m|re|ve|ll|d))$", re.IGNORECASE)
# "l'index", "dell'indice".
_ELIDED = re.compile(r"^(?:[cdjlmnst]|qu|un|(?:d|n|s)?ell|all|dall|sull)['’](?=\w{2})", re.IGNORECASE)
_CONTRACTION = re.compile(r"I['’]")
_ENDS_SENTENCE = frozenset(".?!:")
_OPENS_SENTENCE = frozenset('"“„«¿¡(')
_NOT_LETTERS = re.compile(r"[\W_]+")
# Written as code is: joined by "_", with a capital inside, or letters and digits in one.
_IDENTIFIER = re.compile(r"\w_\w|[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[^\W\d_]\d|\d[^\W\d_]")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")
# Characters that questions and grammar are made of, in Chinese and, all of hiragana, in Japanese.
_CJK_FUNCTION = re.compile("[的了吗呢么吧是有什怎哪谁几多少何候为在和与及其之个\\u3040-\\u309f]")
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


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question's words, in order, that are not what questions are made of; all when none is left.

    `function_terms` are the index terms that only function words of its language have, when that is not English.
    """

    words: tuple[AskedWord, ...]
    function_terms: frozenset[str]


@lru_cache(maxsize=64)
def asked_question(question: str) -> AskedQuestion:
    """Return what a question is about, and what it is not."""
    texts, words = list[str](), list[AskedWord]()
    for text, start in _texts(question):
        texts.append(text)
        terms = frozenset(analyse_terms(text)) - STOP_TERMS
        if terms:
            words.append(AskedWord(text, terms, _is_name(text, is_first=begins_sentence(question, start))))
    mere = function_words(texts)
    grammar = [word for word in words if _is_mere(word, mere)]
    others = [word for word in words if not _is_mere(word, mere)]
    telling = [word for word in others if word.is_name or not _is_of_questions(word)]
    return AskedQuestion(tuple(telling or words), _terms(grammar) - _terms(others))


def asked_words(question: str) -> tuple[AskedWord, ...]:
    """Return the words of `asked_question`."""
    return asked_question(question).words


def _terms(words: Iterable[AskedWord]) -> frozenset[str]:
    return frozenset[str]().union(*(word.terms for word in words))


def begins_sentence(text: str, start: int) -> bool:
    """Tell whether a sentence, or something quoted, begins with the word at `start`: its capital tells nothing then."""
    end = start
    while end and text[end - 1].isspace():
        end -= 1
    return not end or text[end - 1] in _OPENS_SENTENCE or (text[end - 1] in _ENDS_SENTENCE and end < start)


def _texts(question: str) -> Iterator[tuple[str, int]]:
    """Yield each word of a question, bare, and where what it is written in begins."""
    for match in _WORD.finditer(question):
        for piece in _pieces(match.group()):
            text = piece.strip(_AROUND)
            if "'" in text or "’" in text:
                text = _ELIDED.sub("", _CLITIC.sub("", text))
            if text:
                yield text, match.start()


def names_nowhere(words: Sequence[AskedWord], passages: Sequence[Held]) -> bool:
    """Tell whether some name among `words` stands in none of `passages`."""
    return any(word.is_name and not any(word.is_held(held) for held in passages) for word in words)


def _pieces(word: str) -> Iterator[str]:
    """Yield a word, or each two characters of what it holds of Chinese, Japanese or Korean, and what lies between."""
    position = 0
    for run in CJK_RUN.finditer(word):
        yield word[position : run.start()]
        text = run.group()
        yield from (text[i : i + 2] for i in range(max(len(text) - 1, 1)))
        position = run.end()
    yield word[position:]


def _is_mere(word: AskedWord, mere: frozenset[str]) -> bool:
    """Tell whether a word is one of `mere`, as written, or no name and one of them but for its case."""
    return word.text in mere or (not word.is_name and word.text.casefold() in mere)


def _is_of_questions(word: AskedWord) -> bool:
    return word.terms <= QUESTION_TERMS or _CJK_FUNCTION.search(word.text) is not None


def _is_name(text: str, *, is_first: bool) -> bool:
    if _IDENTIFIER.search(text) and not _PLURAL_ACRONYM.fullmatch(text):
        return True
    is_capital = len(text) > 1 and text[0].isupper() and not _CONTRACTION.match(text)
    return is_capital and not is_first
