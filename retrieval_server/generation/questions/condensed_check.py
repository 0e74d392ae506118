"""What a model made of a question counts only if it asks the same: nothing is dropped, nothing comes from elsewhere.

A model may answer instead of asking, repeat the question before, go on with an example of its training, or do what a
text in the conversation tells it to. All of that changes the words, so the words are what is looked at.
"""

import re
import unicodedata

from retrieval_server.engine.words.analyser import analyse_terms
from retrieval_server.engine.words.stop_words import STOP_TERMS
from retrieval_server.generation.questions.condensing import Conversation
from retrieval_server.generation.questions.conversation import standalone_question
from retrieval_server.generation.questions.near_questions import is_negated
from retrieval_server.generation.questions.rewriting import rewritten_question
from retrieval_server.generation.text.claims import Claims, HeldWords, are_held

MAX_CONDENSED_CHARS = 400
_MAX_TOLD_CHARS = 40
_LABEL = re.compile(r"(?:(?:the|last|full|direct|standalone|rewritten|new)\s+){0,3}question\s*:\s*", re.IGNORECASE)
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
_WORD = re.compile(r"\w+")
_HOW_ABOUT = re.compile(r"\bhow\s+about\b", re.IGNORECASE)
# "What" and "which" stand for each other, and for what was asked before: "What about x?".
_INTERROGATIVES = frozenset(("how", "when", "where", "who", "why"))
_CONTRACTIONS = (
    (re.compile(r"\bcan(?:not|['\u2019]t)\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon['\u2019]t\b", re.IGNORECASE), "will not"),
    (re.compile(r"n['\u2019]t\b", re.IGNORECASE), " not"),
    (re.compile(r"['\u2019](?:s|re|ll|ve|d|m)\b", re.IGNORECASE), ""),
)
_LINE_SEPARATORS = ("Zl", "Zp")
# They only point at something, or are only polite: a question may lose them when it is made to stand by itself.
_POINTING = """
one ones former latter else also again still yet already actually really please thanks thank hi hello hey ok okay tell
know explain mean
"""
_POINTING_TERMS = frozenset(analyse_terms(_POINTING))


def cleaned(text: str) -> str:
    """Return what a model wrote without what models put around a question: a label, quotes, stars."""
    text = text.strip(' \t\n*"\u201c\u201d')
    return _LABEL.sub("", text, count=1).strip(' *"\u201c\u201d') if _LABEL.match(text) else text


def fault_in(condensed: str, conversation: Conversation) -> str:
    """Return in one sentence why `condensed` is not the question of `conversation` made to stand by itself, else "".

    `conversation` is what the model has read: a word from anywhere else is invented.
    """
    form = _fault_of_form(condensed)
    if form:
        return form
    typed = rewritten_question(conversation.typed)
    said = conversation.texts()
    terms, asked = _content(condensed), _content(typed)
    invented = terms - frozenset().union(*map(_content, said))
    if invented or not are_held(Claims(condensed), [HeldWords(*said)]):
        return f"The model's question holds {_told(condensed, invented)}, which nobody has said."
    dropped = (asked - terms - _POINTING_TERMS) | (_interrogatives(typed) - _interrogatives(condensed))
    if dropped or not are_held(Claims(typed), [HeldWords(condensed)]):
        return f"The model's question has lost {_told(typed, dropped)} of what was asked."
    if is_negated(condensed) != is_negated(typed) and not _continues_negated(condensed, conversation):
        return "The model's question is the contrary of what was asked."
    if terms <= _content(conversation.typed) and standalone_question(typed, conversation.history) != typed:
        return "The model's question leaves to the conversation what was left to it before."
    return ""


def _fault_of_form(condensed: str) -> str:
    if not condensed.strip():
        return "The model wrote nothing."
    if len(condensed) > MAX_CONDENSED_CHARS:
        return f"The model's question is longer than {MAX_CONDENSED_CHARS} characters."
    categories = {unicodedata.category(char) for char in condensed}
    if any(one.startswith("C") or one in _LINE_SEPARATORS for one in categories):
        return "The model's question is not one line of plain text."
    if not condensed.endswith(_QUESTION_MARKS) or sum(map(condensed.count, _QUESTION_MARKS)) != 1:
        return "The model wrote no single question."
    return ""


def _told(text: str, terms: frozenset[str]) -> str:
    """Return the first word of `text` with one of `terms`, quoted."""
    for word in _WORD.findall(text):
        if word.lower() in terms or not terms.isdisjoint(analyse_terms(word)):
            return f'"{word[:_MAX_TOLD_CHARS]}"'
    return "a name or number"


def _interrogatives(text: str) -> frozenset[str]:
    """Return which of the words that say what is wanted to know stand in a text; "how about" says nothing."""
    return _INTERROGATIVES & frozenset(_WORD.findall(_HOW_ABOUT.sub(" ", text).lower()))


def _continues_negated(condensed: str, conversation: Conversation) -> bool:
    """Tell whether a "not" was left to the conversation: "Why does x not start?", "What about y?"."""
    return is_negated(condensed) and any(is_negated(turn.question) for turn in conversation.history)


def _content(text: str) -> frozenset[str]:
    """Return the index terms of a text but the function words."""
    for contraction, whole in _CONTRACTIONS:
        text = contraction.sub(whole, text)
    return frozenset(analyse_terms(text)) - STOP_TERMS
