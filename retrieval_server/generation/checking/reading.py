"""Whether passages speak of what a question asks: what of its names, and of the things asked for, none of them holds.

Retrieval returns the nearest that there is, however far. A passage about `max_tokens` says nothing of
`max_tokens_per_minute`, and one about deployments nothing of Terraform. Names are not said in other words. A plain word
is, so that one that is missing tells nothing, but for what is to be counted ("how many gates") and for two that make
one thing ("floor plan").
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from retrieval_server.engine.judging.held_terms import text_around
from retrieval_server.engine.words.analyser import analyse_terms
from retrieval_server.engine.words.asked_words import asked_words, begins_sentence, compacted
from retrieval_server.engine.words.question_vocabulary import QUESTION_TERMS, VERBS
from retrieval_server.engine.words.stop_words import STOP_TERMS, STOP_WORDS
from retrieval_server.generation.text.claims import Claims
from retrieval_server.model import Passage

_WORD = re.compile(r"[A-Za-z][\w+#-]*")
_ENDPOINT = re.compile(r"(?<![\w/.])/[A-Za-z][\w-]*+(?:/[\w-]++)*+")
_DOTTED = re.compile(r"(?<![\w.-])[A-Za-z_][\w-]*+(?:\.[\w-]++)++")
_CAPITAL_RUN = re.compile(r"(?<![\w.])[A-Z]\w+(?: [A-Z]\w+)+")
_COMMAND = re.compile(r"(?<![\w-])([\w-]++) ([\w-]++) (?:sub)?command\b", re.IGNORECASE)
_COUNTED = re.compile(r"\bhow (?:many|much)((?: [\w-]++){1,4}+)", re.IGNORECASE)
_TOKEN = re.compile(r"[\w-]+")
# Shorter names are found inside of too many others.
_MIN_COMPACT_CHARS = 4
_MAX_COUNTED_WORDS = 3
_ARTICLES = frozenset(("a", "an", "the"))


def missing_words(question: str, passages: Sequence[Passage]) -> tuple[str, ...]:
    """Return what `question` names and what it asks for that stands in none of `passages`.

    That are identifiers, numbers, proper names, endpoints, commands, what is to be counted, and pairs of plain words.
    A passage's path and breadcrumbs count with its text, and any spelling of a name does: `ModelRunner` is held by
    `model_runner.py`.
    """
    held = [_HeldText(passage) for passage in passages]
    named = (*_names(question), *_counted(question))
    missing = [name for name in named if not any(one.holds(name) for one in held)]
    missing += [name for name in _whole_names(question) if not any(one.spells(name) for one in held)]
    missing += [" ".join(call) for call in _commands(question) if not any(one.calls(*call) for one in held)]
    missing += _missing_pairs(question, held)
    return tuple({name.casefold(): name for name in missing}.values())


def _names(question: str) -> list[str]:
    claims = Claims(question)
    return list(dict.fromkeys((*sorted(claims.words | claims.numbers), *_proper_names(question))))


def _proper_names(question: str) -> Iterator[str]:
    """Yield the words that are written with a capital although no sentence begins with them."""
    for match in _WORD.finditer(question):
        name = match.group()
        if name[0].isupper() and len(name) > 1 and not begins_sentence(question, match.start()):
            yield name


def _whole_names(question: str) -> Iterator[str]:
    """Yield the names of several words that are only held with all of them together, in any spelling."""
    yield from (name for name in Claims(question).words if "-" in name)
    yield from _ENDPOINT.findall(question)
    for dotted in _DOTTED.findall(question):
        yield from (part for part in dotted.split(".") if "-" in part.strip("-"))
    for match in _CAPITAL_RUN.finditer(question):
        # Acronyms are put together as one likes ("CUDA GPU"), and a sentence's first word is no name.
        if not match.group().isupper() and not begins_sentence(question, match.start()):
            yield match.group()


def _commands(question: str) -> Iterator[tuple[str, str]]:
    """Yield program and command of "the P C command"."""
    for match in _COMMAND.finditer(question):
        program, command = match.groups()
        if program.lower() not in STOP_WORDS and not frozenset(analyse_terms(command)) <= QUESTION_TERMS:
            yield program, command


def _counted(question: str) -> Iterator[str]:
    """Yield the noun of "how many … nouns do"."""
    for match in _COUNTED.finditer(question):
        words = match.group(1).split()
        stop = next((i for i, word in enumerate(words) if word.lower() in STOP_WORDS or word.lower() in VERBS), None)
        if stop is None or stop > _MAX_COUNTED_WORDS:
            words = words[:1]
        else:  # before an article stands the verb: "how many people attended the"
            words = words[: max(stop - 1, 1) if words[stop].lower() in _ARTICLES else stop]
        if words and not frozenset(analyse_terms(words[-1])) <= QUESTION_TERMS:
            yield words[-1]


def _missing_pairs(question: str, held: Sequence["_HeldText"]) -> Iterator[str]:
    """Yield two plain words that follow each other where no passage holds either."""
    words = asked_words(question)
    is_missing = [
        not (word.is_name or word.terms <= QUESTION_TERMS or any(word.is_held(one) for one in held)) for word in words
    ]
    for place, (first, second) in enumerate(pairwise(words)):
        pair = f"{first.text} {second.text}"
        if is_missing[place] and is_missing[place + 1] and pair in question:
            yield pair


class _HeldText:
    """A passage's text with its surroundings, to be asked for names and words."""

    def __init__(self, passage: Passage) -> None:
        self._text = text_around(passage)
        self._terms = frozenset(analyse_terms(self._text))

    def holds(self, name: str) -> bool:
        """Tell whether the name stands here, in whatever spelling."""
        return self.spells(name) or frozenset(analyse_terms(name)) - STOP_TERMS <= self._terms

    def spells(self, name: str) -> bool:
        """Tell whether the letters and digits of a name stand here together, if they are enough to tell."""
        compact = compacted(name)
        return len(compact) >= _MIN_COMPACT_CHARS and compact in self.compact()

    def calls(self, program: str, command: str) -> bool:
        """Tell whether a command stands after its program, or before "command"."""
        program, command = program.casefold(), command.casefold()
        return not self._pairs.isdisjoint(((program, command), (command, "command"), (command, "subcommand")))

    def terms(self, asked: frozenset[str]) -> frozenset[str]:
        """Return those of the `asked` index terms that stand here."""
        return asked & self._terms

    def compact(self) -> str:
        """Return the letters and digits of all that stands here."""
        return self._compact

    @cached_property
    def _compact(self) -> str:
        return compacted(self._text)

    @cached_property
    def _pairs(self) -> frozenset[tuple[str, str]]:
        tokens = _TOKEN.findall(self._text.casefold())
        return frozenset(pairwise(tokens))
