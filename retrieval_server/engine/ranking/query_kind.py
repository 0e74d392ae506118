"""Which profile serves a query: decided by a few features of its words, each of which can be told to the caller."""

import re
from collections.abc import Callable
from typing import NamedTuple

from retrieval_server.engine.words.definitions import names_in
from retrieval_server.engine.words.stop_words import STOP_WORDS
from retrieval_server.model import Profile

_TOKEN = re.compile(r"[^\s,;()\[\]{}\"']+")
# What people write in code and not in sentences. Two humps alone ("JavaScript", "CMake") may be a product's name.
_IDENTIFIER = re.compile(
    r"""`.+`                                 # quoted as code
      | --?[A-Za-z][\w-]*                    # an option
      | (?=\w\w)[^\W_]*+_\w*+                # snake_case, CONSTANT_CASE
      | [^\W\d]\w*(?:(?:\.|::|->|\#)\w+)+    # dotted, scoped
      | [a-z]+[A-Z]\w*                       # camelCase
    """,
    re.VERBOSE,
)
_HUMPED = re.compile(r"[A-Z]+[a-z0-9]+[A-Z]\w*|[A-Z]{2,}[a-z]\w*")
_LETTER = re.compile(r"[^\W\d_]")
_MAX_SYMBOL_TOKENS = 2
# A topic is named in a few words; a longer text describes one situation.
_MAX_TOPIC_TOKENS = 16


class QueryKind(NamedTuple):
    """A decision, the feature that led to it, and the first identifier of the query, "" when it quotes none."""

    profile: Profile
    explanation: str
    identifier: str


def query_kind(query: str, is_defined: Callable[[str], bool]) -> QueryKind:
    """Return SYMBOL for a bare name, EXPLORE for a topic in plain words, else PRECISE.

    `is_defined` tells whether the collection defines a name: that makes a name of what may be a word or a product.
    """
    tokens = [token for token in (found.rstrip("?!.:") for found in _TOKEN.findall(query)) if token]
    identifier = next((token for token in tokens if _is_identifier(token, is_defined)), "")
    asks = query.rstrip().endswith("?")
    if len(tokens) == 1 and not asks and _LETTER.search(tokens[0]):
        if identifier or _is_defined(tokens[0], is_defined):
            return QueryKind(Profile.SYMBOL, f"the name {tokens[0]} alone", tokens[0])
        if not tokens[0].isalpha():
            return QueryKind(Profile.PRECISE, "one word that is not written like one", tokens[0])
        return QueryKind(Profile.EXPLORE, "one word that nothing here is named by", "")
    if identifier and not asks and len(tokens) <= _MAX_SYMBOL_TOKENS:
        return QueryKind(Profile.SYMBOL, f"little but the name {identifier}", identifier)
    if identifier:
        return QueryKind(Profile.PRECISE, f"quotes the identifier {identifier}", identifier)
    if asks:
        return QueryKind(Profile.PRECISE, "asks a question", "")
    if len(tokens) > _MAX_TOPIC_TOKENS:
        return QueryKind(Profile.PRECISE, "is too long to only name a topic", "")
    if all(token.casefold() in STOP_WORDS for token in tokens):
        return QueryKind(Profile.PRECISE, "holds function words alone", "")
    return QueryKind(Profile.EXPLORE, "names a topic in plain words", "")


def _is_identifier(token: str, is_defined: Callable[[str], bool]) -> bool:
    if _IDENTIFIER.fullmatch(token):
        return True
    return _HUMPED.fullmatch(token) is not None and _is_defined(token, is_defined)


def _is_defined(token: str, is_defined: Callable[[str], bool]) -> bool:
    return any(map(is_defined, names_in(token)[-1:]))
