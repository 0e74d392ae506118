"""A follow-up made into a question that stands by itself, by rule: "and its default?" needs to know of what.

Rules and not a model: a small one invents, and what is searched must be what was asked. Whoever asks sees the result.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from retrieval_server.engine.words.analyser import analyse_terms
from retrieval_server.engine.words.stop_words import STOP_TERMS
from retrieval_server.generation.text.claims import identifiers_as_written
from retrieval_server.generation.text.question_words import AUXILIARIES

_WHAT_ABOUT = re.compile(r"(?:and|but|so|ok(?:ay)?)?,?\s*(?:what|how)\s+about\s+(?P<new>.+)", re.IGNORECASE)
_OPENING = re.compile(r"\s*(?:and|but|so|then|also|ok(?:ay)?),?\s+", re.IGNORECASE)
_POSSESSIVE = re.compile(r"\b(?:its|their)\b", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\b(?:it|they|them|(?:this|that|these|those)(?=\s*(?:[?.,!]|$|is\b|are\b|was\b|were\b|do\b|does\b|work)))\b",
    re.IGNORECASE,
)
_POINTING = re.compile(r"\b(?:this|that|these|those)\s+(?=\w)", re.IGNORECASE)
# It begins where nothing of it stands before: from each of many dots it would look to the end of them.
_WORD = re.compile(r"(?<![\w.'’/-])[\w.'’/-]*\w")
_PREPOSITIONS = frozenset(("after", "at", "by", "for", "from", "if", "in", "on", "under", "when", "with", "without"))
_MAX_SUBJECT_WORDS = 8
_MAX_SUBJECT_NAMES = 2
_MIN_STANDALONE_TERMS = 2
# Each turn could otherwise multiply the one before: a name that stands there often, by what takes its place.
_MAX_REPLACED = 4
_MAX_COMPLETED_CHARS = 4000


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier question with its answer."""

    question: str
    answer: str = ""


def standalone_question(question: str, history: Sequence[Turn]) -> str:
    """Return `question` with what it leaves to the turns before it (oldest first) filled in; as it is if nothing.

    "What about x?" asks the last full question of x. A pronoun stands for the subject of the last full question: the
    names in it, else those of its answer, else its own words. What would become longer than a question is stays too.
    """
    full = ""
    answer = ""
    for turn in history:  # follow-ups build on each other
        full = _completed(turn.question, full, answer)
        answer = turn.answer
    return _completed(question, full, answer)


def _completed(question: str, before: str, answer: str) -> str:
    if not before:
        return question
    plain = " ".join(question.split())  # over a long run of spaces the patterns would take for ever
    made = _filled_in(plain, before, answer)
    return question if made == plain or len(made) > _MAX_COMPLETED_CHARS else made


def _filled_in(question: str, before: str, answer: str) -> str:
    if (about := _WHAT_ABOUT.match(question)) and (new := about["new"].rstrip(" ?")):
        return f"{before.rstrip(' ?.')} {new}?" if _is_place(new) else _about(before, new, answer)
    opened = _OPENING.match(question)
    rest = question[opened.end() :] if opened else question
    subject = _subject(before, answer)
    if not subject:
        return question
    if possessive := _POSSESSIVE.search(rest):
        noun = rest[possessive.end() :].strip(" ?.")
        if noun and " " not in noun:
            asking = rest[: possessive.start()] or ("what are " if noun.endswith("s") else "what is ")
            return _capital(f"{asking}the {noun} of {subject}?")
        return _capital(_POSSESSIVE.sub(f"{subject}'s", rest, count=1))
    if _PRONOUN.search(rest):
        return _capital(_PRONOUN.sub(subject, rest, count=1))
    if opened or _POINTING.search(rest) or len(_content(rest)) < _MIN_STANDALONE_TERMS:
        return f"{_capital(rest).rstrip(' ?.')} ({subject})?"
    return question


def _is_place(rest: str) -> bool:
    return rest.split(maxsplit=1)[0].lower() in _PREPOSITIONS


def _about(before: str, new: str, answer: str) -> str:
    """Ask the question before of something else: its last name is replaced, if it has one."""
    names = identifiers_as_written(before)
    new_names = identifiers_as_written(new)
    if names and (new_names or len(new.split()) == 1):
        return before.replace(names[0] if len(names) == 1 else _most_alike(names, new), new, _MAX_REPLACED)
    subject = _subject(before, answer)
    return f"{before.rstrip(' ?.')}: {new}, {subject}?" if subject else f"{before.rstrip(' ?.')}: {new}?"


def _most_alike(names: Sequence[str], new: str) -> str:
    """Return the name that `new` most likely takes the place of: one written alike, the first of equals."""
    return min(names, key=lambda name: (("_" in name) != ("_" in new), name[:1].isupper() != new[:1].isupper()))


def _subject(question: str, answer: str) -> str:
    names = identifiers_as_written(question) or identifiers_as_written(answer)[:1]
    if names:
        return " of ".join(names[:_MAX_SUBJECT_NAMES])
    words = [word for word in _WORD.findall(question) if _content(word) and word.lower() not in AUXILIARIES]
    return " ".join(words[:_MAX_SUBJECT_WORDS])


def _content(text: str) -> frozenset[str]:
    return frozenset(analyse_terms(text)) - STOP_TERMS


def _capital(text: str) -> str:
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text
