"""A question as it is typed made into the question that is searched: without courtesies, direct, in one sentence.

"Hi, I use FooPool. Could you tell me what its size is? Thanks!" asks "What is its size (FooPool)?". Rules and not a
model, as in `conversation`: nothing is said that was not asked, and whoever asks sees the result.
"""

import re

from retrieval_server.generation.text.claims import identifiers_as_written
from retrieval_server.generation.text.question_words import AUXILIARIES
from retrieval_server.generation.text.sentences import split_sentences

_GREETING = re.compile(
    r"\s*(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day))\b"
    r"(?:\s+(?:there|all|everyone|everybody|team|folks))?\s*[,.!:–-]*\s*",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?<![\s,.;!–-])[\s,.;!–-]*+\b(?:many thanks|thanks|thank you|thx|cheers|please)\b"
    r"(?:\s+(?:a lot|so much|very much|in advance|for (?:any|your) help))*[\s.!]*+(?=\?*\s*$)",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"\s*(?:(?:and|so|also|but|ok(?:ay)?|well|please|just|now)\b,?\s+)*"
    r"(?:"
    r"(?:please\s+)?(?:can|could|would|will)\s+(?:you|anyone|anybody|someone|somebody)\s+(?:please\s+|kindly\s+|maybe\s+)*"
    r"(?:tell|explain|show|remind|help)(?:\s+to)?(?:\s+(?:me|us))?(?:\s+(?:understand|find\s+out|figure\s+out|know))?"
    r"|(?:please\s+)?(?:tell|explain|show|remind)(?:\s+to)?(?:\s+(?:me|us))?"
    r"|(?:does|do)\s+(?:you|anyone|anybody|someone|somebody)\s+(?:happen\s+to\s+)?know"
    r"|(?:i|we)(?:\s+am|\s+are|['’]m|['’]re|\s+was|\s+were)\s+"
    r"(?:just\s+)?(?:wondering|curious|asking|not\s+sure|unsure|trying\s+to\s+(?:understand|find\s+out|figure\s+out|see))"
    r"|(?:i|we)(?:\s+(?:just|would|really)|['’]d)*\s+(?:want|need|like|wonder)(?:ed)?"
    r"(?:\s+to\s+(?:know|ask|understand|find\s+out|figure\s+out|see))?"
    r"|(?:i|we)\s+(?:do\s+not|don['’]t|cannot|can['’]t)\s+(?:know|understand|see|figure\s+out|find\s+out|find)"
    r"|(?:my|our|the|one)\s+question\s+is"
    r")(?:\s+about)?[\s,:]+(?=(?:what|which|who|whose|how|where|when|why|whether|if|is|are|do|does|can)\b)",
    re.IGNORECASE,
)
_QUESTION_WORD = re.compile(r"(?:what|which|who|whose|how|where|when|why)\b", re.IGNORECASE)
_WHETHER = re.compile(r"(?:whether|if)\s+", re.IGNORECASE)
_ADVERBS = frozenset(("how", "where", "why", "when"))
_MEASURES = frozenset(("many", "much", "long", "often", "large", "big", "far", "fast", "old", "high", "deep"))
_RELATIVES = frozenset(("that", "which", "who", "whose", "when", "if"))
_MAX_NAMES = 3


def rewritten_question(question: str) -> str:
    """Return the question that `question` asks; unchanged when none of its sentences asks, or several do.

    The identifiers of the sentences around it follow in brackets.
    """
    sentences = [text for start, end in split_sentences(question) if (text := _without_courtesies(question[start:end]))]
    asking = [text for text in sentences if _asks(text)]
    if len(asking) != 1:
        return question
    asked = _direct(asking[0])
    others = " ".join(text for text in sentences if text is not asking[0])
    names = [name for name in identifiers_as_written(others) if name not in asked][:_MAX_NAMES]
    body = asked.rstrip(" ?.!")
    about = f" ({', '.join(names)})" if names else ""
    return f"{body[:1].upper()}{body[1:]}{about}?"


def _without_courtesies(sentence: str) -> str:
    text = _GREETING.sub("", sentence, count=1) if _GREETING.match(sentence) else sentence
    return _THANKS.sub("", text).strip(" ,")


def _asks(sentence: str) -> bool:
    first = sentence.split(maxsplit=1)[0].lower() if sentence.split() else ""
    return (
        sentence.endswith("?")
        or bool(_ASKING.match(sentence))
        or bool(_QUESTION_WORD.match(sentence))
        or first in AUXILIARIES
    )


def _direct(sentence: str) -> str:
    """Make "could you tell me what x is" "what is x"; what is direct already stays as it is."""
    opened = _ASKING.match(sentence)
    if not opened:
        return sentence
    rest = sentence[opened.end() :].rstrip(" ?.!")
    words = rest.split()
    if _WHETHER.match(rest):
        return _with_verb_first(words[1:]) or sentence
    if not _QUESTION_WORD.match(rest) or len(words) == 1 or words[1].lower() in AUXILIARIES:
        return rest
    is_measure = words[0].lower() == "how" and words[1].lower() in _MEASURES
    if words[0].lower() in _ADVERBS and not is_measure and (moved := _with_verb_first(words[1:])):
        return f"{words[0]} {moved}"
    # "what x is": the verb at the end belongs behind the question word; in the middle it may be of another clause.
    if words[-1].lower() in AUXILIARIES:
        return " ".join((words[0], words[-1], *words[1:-1]))
    return rest


def _with_verb_first(words: list[str]) -> str:
    """Return "can x be y" of "x can be y"; "" when there is no such verb, or it may be that of a relative clause."""
    place = next((i for i, word in enumerate(words) if i and word.lower() in AUXILIARIES), None)
    if not place or not _RELATIVES.isdisjoint(word.lower() for word in words[:place]):
        return ""
    return " ".join((words[place], *words[:place], *words[place + 1 :]))
