"""A question turned into the beginning of its answer: "What is the default of x?" → "The default of x is".

A small model that is given the beginning of the answer has only the fact left to write, which it mostly copies. The
rules are those of English questions; a question that none of them fits is left to the model as it is.
"""

import re

from retrieval_server.engine.words.question_vocabulary import VERBS
from retrieval_server.generation.text.question_words import AUXILIARIES, MODALS, PARTICIPLES, PRONOUNS

_MAX_QUESTION_WORDS = 40
_MIN_PARTICIPLE_CHARS = 3
_SPACE = re.compile(r"\s+")
# "When x is None, what is …?": what stands before the question itself is kept in front.
_LEADING = re.compile(
    r"((?:when|if|for|in|on|with|by|after|before|during|while|to)\b[^?]*?),\s+(?=(?:what|which|how|where|why)\b)",
    re.IGNORECASE,
)
_SECOND = re.compile(
    r",?\s+(?:and|or|,)\s+(?=(?:what|which|how|where|why|when|is|are|does|do)\b[^?]*\?)", re.IGNORECASE
)
_CONTRACTIONS = (
    (re.compile(r"^(what|where|how|when|who)['’]s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"^(what|where|how)['’]re\b", re.IGNORECASE), r"\1 are"),
)
_CONDITIONS = ("when", "if", "after", "before", "while")
_FORMS_OF_BE = frozenset(("is", "are", "was", "were"))
_ARTICLES = frozenset(("the", "a", "an", "all", "this", "these", "each", "every"))
_NO_VERB_AFTER = _ARTICLES | {"to", "of", "in", "for", "and", "or", "its", "with", "by"}


def restate(question: str) -> str:
    """Return how a statement that answers `question` begins, without a space at its end; "" when no rule fits."""
    text = _SPACE.sub(" ", question).strip()
    if not text.endswith("?") or text.count("?") > 1 or len(text.split()) > _MAX_QUESTION_WORDS:
        return ""
    lead = ""
    if leading := _LEADING.match(text):
        lead, text = leading.group(1), text[leading.end() :]
    if second := _SECOND.search(text):
        text = f"{text[: second.start()]}?"
    for contraction, whole in _CONTRACTIONS:
        text = contraction.sub(whole, text)
    words = text[:-1].split()
    statement = _statement(words) if words else []
    if not statement:
        return ""
    if lead:
        statement = [*lead.split(), *([] if lead.endswith(",") else [","]), *statement]
    return _written(statement)


def _statement(words: list[str]) -> list[str]:
    first, rest = words[0].lower(), words[1:]
    if first in {"what", "which"} and rest:
        return _what(rest)
    if first == "how" and len(rest) > 1:
        return _how(rest)
    if first in {"where", "when", "why"} and len(rest) > 1:
        return _adverbial(rest, {"where": "in", "when": "when", "why": "because"}[first])
    return []


def _what(words: list[str]) -> list[str]:
    if words[0].lower() == "happens":
        return _what_happens(words[1:])
    place = next((i for i, word in enumerate(words) if word.lower() in AUXILIARIES), None)
    finite = next((i for i, word in enumerate(words) if _base_of(word) and i <= 4), None)
    if finite is not None and (place is None or finite < place):
        return _what_subject(words, finite)
    if place is None:
        return []
    noun, auxiliary, rest = words[:place], words[place].lower(), words[place + 1 :]
    if not rest:
        return []
    if not noun:
        return _what_alone(auxiliary, rest)
    if auxiliary in _FORMS_OF_BE and rest[0].lower() in _ARTICLES:  # "What type is the x": no rule knows where x ends
        return []
    be = "are" if _is_plural(noun) else "is"
    if auxiliary in {"do", "does", "did"}:
        clause = _clause(rest, auxiliary)
        return [*_definite(noun), *clause, be] if clause else []
    if auxiliary in MODALS:
        verb = _verb_place(rest)
        if rest[0].lower() == "be" or verb == 0:
            return [*_definite(noun), "that", auxiliary, *rest, be]
        return [*_definite(noun), *rest[:verb], auxiliary, *rest[verb:], be] if verb else []
    if _is_participle(rest[0]):
        return [*_definite(noun), *rest, be]
    return [*_definite(noun), "that", auxiliary, *rest, be]


def _what_subject(words: list[str], verb: int) -> list[str]:
    """Restate questions whose noun is the subject: "What determines x", "What flag controls x"."""
    noun, rest = words[:verb], words[verb:]
    if noun:
        return [*_definite(noun), "that", *rest, "are" if _is_plural(noun) else "is"]
    base = _base_of(rest[0])
    return [*rest[1:], "is", _participle(base), "by"] if len(rest) > 1 else []


def _what_alone(auxiliary: str, rest: list[str]) -> list[str]:
    if auxiliary in {"do", "does", "did"}:
        verb = _verb_place(rest)
        if verb and rest[verb].lower() == "do":
            return [*rest[verb + 1 :], ",", *rest[:verb]] if rest[verb + 1 :] else rest[:verb]
        return _clause(rest, auxiliary)
    if auxiliary in MODALS:
        return _advised(auxiliary, rest) if rest[0].lower() in PRONOUNS and len(rest) > 1 else []
    if _is_participle(rest[0]):  # "What is stored in x"
        return []
    # "What is x used for": the verb goes where it belongs.
    if len(rest) > 2 and _is_participle(rest[-2]) and rest[-1].lower() in {"for", "by", "to", "as", "with", "in"}:
        return [*rest[:-2], auxiliary, *rest[-2:]]
    return [*rest, auxiliary]


def _what_happens(words: list[str]) -> list[str]:
    """Begin the answer to "What happens to x when y" with "When y, x"."""
    place = next((i for i, word in enumerate(words) if word.lower() in _CONDITIONS), None)
    if place is None or len(words) - place < 3:
        return []
    return [*words[place:], ",", *words[1:place]]


def _advised(modal: str, words: list[str]) -> list[str]:
    """Begin the answer to "What should I do if x" with "If x, you should"."""
    pronoun, verb, rest = words[0], words[1], words[2:]
    if verb.lower() != "do":
        return [pronoun, modal, verb, *rest]
    return [*rest, ",", pronoun, modal] if rest and rest[0].lower() in (*_CONDITIONS, "to") else [pronoun, modal]


def _how(words: list[str]) -> list[str]:
    first = words[0].lower()
    if first in {"many", "much", "often", "long", "large"}:
        counted = _what(["number", "of", *words[1:]]) if first == "many" and words[1] != "times" else []
        return [*counted[:-1], "is"] if counted else []
    if first == "to":
        return ["you", "can", *words[1:], "by"]
    if first in {"do", "can", "should", "could"} and words[1].lower() in PRONOUNS:
        return ["you", "can" if first == "do" else first, *words[2:], "by"]
    return _adverbial(words, "by")


def _adverbial(words: list[str], link: str) -> list[str]:
    auxiliary, rest = words[0].lower(), words[1:]
    if auxiliary in {"do", "does", "did"}:
        clause = _clause(rest, auxiliary)
        return [*clause, link] if clause else []
    if auxiliary in MODALS:
        verb = 1 if rest[0].lower() in PRONOUNS else _verb_place(rest)
        return [*rest[:verb], auxiliary, *rest[verb:], link] if verb else []
    if auxiliary in _FORMS_OF_BE:
        verb = next((i for i, word in enumerate(rest) if i and _is_participle(word)), None)
        if verb and rest[verb - 1].lower() == "not":
            verb -= 1
        return (
            [*rest[:verb], auxiliary, *rest[verb:], link]
            if verb
            else [*rest, auxiliary, *([link] if link != "by" else [])]
        )
    return []


def _clause(words: list[str], auxiliary: str) -> list[str]:
    """Put the verb of "(does) the layer return in x" into its form: "the layer returns in x"."""
    verb = _verb_place(words)
    if not verb:
        return []
    stated, rest = [*words[:verb], _inflected(words[verb], auxiliary)], words[verb + 1 :]
    if rest and rest[0].lower() in _CONDITIONS:  # "What does x return when y": the object is to come last
        return [*rest, ",", *stated]
    return [*stated, *rest]


def _verb_place(words: list[str]) -> int | None:
    if words and words[0].lower() in PRONOUNS:
        return 1 if len(words) > 1 else None
    if words and words[0] in VERBS:
        return 0
    return next(
        (i for i, word in enumerate(words) if i and word in VERBS and words[i - 1].lower() not in _NO_VERB_AFTER), None
    )


def _inflected(verb: str, auxiliary: str) -> str:
    if auxiliary == "do":
        return verb
    if auxiliary == "did":
        return _participle(verb)
    if verb == "have":
        return "has"
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"


def _base_of(word: str) -> str:
    """Return the verb whose third person `word` is; "" when it is none."""
    lowered = word.lower()
    for base in (lowered[:-1], lowered[:-2], f"{lowered[:-3]}y"):
        if base in VERBS and _inflected(base, "does") == lowered:
            return base
    return ""


def _participle(verb: str) -> str:
    if verb.endswith("e"):
        return f"{verb}d"
    return f"{verb[:-1]}ied" if re.search(r"[^aeiou]y$", verb) else f"{verb}ed"


def _is_participle(word: str) -> bool:
    lowered = word.lower()
    return lowered in PARTICIPLES or (
        len(lowered) > _MIN_PARTICIPLE_CHARS and lowered.endswith("ed") and lowered[-3] != "e" and lowered.isalpha()
    )


def _is_plural(noun: list[str]) -> bool:
    lowered = [word.lower() for word in noun]
    head = next((lowered[i - 1] for i, word in enumerate(lowered) if i and word in {"of", "in", "for"}), lowered[-1])
    return head.endswith("s") and not head.endswith(("ss", "us", "is"))


def _definite(noun: list[str]) -> list[str]:
    return noun if noun[0].lower() in _ARTICLES or noun[0].endswith(("'s", "’s")) else ["the", *noun]


def _written(words: list[str]) -> str:
    text = " ".join(PRONOUNS.get(word.lower(), word) for word in words).replace(" ,", ",")
    text = re.sub(r",(?=,)", "", text)
    first = text.split(" ", 1)[0].rstrip(",")
    return text[0].upper() + text[1:] if first.isalpha() and first.islower() else text
