"""Whether passages speak of what a question names: which of its names and numbers none of them holds.

Retrieval returns the nearest that there is, however far. A passage about `max_tokens` says nothing of
`max_tokens_per_minute`, and one about deployments nothing of Terraform. Names are not said in other words. Plain words
are, so that missing ones tell nothing of a question in plain words.
"""

import re
from collections.abc import Sequence

from retrieval_server.engine.analyser import analyse_terms
from retrieval_server.generation.claims import Claims
from retrieval_server.model import Passage

_WORD = re.compile(r"[A-Za-z][\w+#-]*")
_SENTENCE_START = re.compile(r"(?:^|[.?!:]\s+|[\"“(]\s*)$")
_NOT_LETTERS = re.compile(r"[\W_]+")
# Shorter names are found inside of too many others.
_MIN_COMPACT_CHARS = 4


def missing_names(question: str, passages: Sequence[Passage]) -> tuple[str, ...]:
    """Return the identifiers, numbers and proper names of `question` that stand in none of `passages`.

    A passage's path and breadcrumbs count with its text, and any spelling does: `ModelRunner` is held by
    `model_runner.py`.
    """
    claims = Claims(question)
    names = dict.fromkeys((*sorted(claims.words | claims.numbers), *_proper_names(question)))
    held = [_HeldText(passage) for passage in passages]
    missing = [name for name in names if not any(one.holds(name) for one in held)]
    return tuple({name.casefold(): name for name in missing}.values())


def _proper_names(question: str) -> list[str]:
    """Return the words that are written with a capital although no sentence begins with them."""
    return [
        match.group()
        for match in _WORD.finditer(question)
        if match.group()[0].isupper()
        and len(match.group()) > 1
        and not _SENTENCE_START.search(question[: match.start()])
    ]


class _HeldText:
    """A passage's text with its surroundings, to be asked for names."""

    def __init__(self, passage: Passage) -> None:
        text = " ".join((passage.path, *passage.breadcrumbs, passage.text))
        self._terms = frozenset(analyse_terms(text))
        self._compact = _compact(text)

    def holds(self, name: str) -> bool:
        """Tell whether the name stands here, in whatever spelling."""
        compact = _compact(name)
        if len(compact) >= _MIN_COMPACT_CHARS and compact in self._compact:
            return True
        return frozenset(analyse_terms(name)) <= self._terms


def _compact(text: str) -> str:
    return _NOT_LETTERS.sub("", text.casefold())
