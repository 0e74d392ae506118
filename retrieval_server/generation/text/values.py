"""Values and types that are stated of a name: `retries: int = 3`, `-> bool`, "Default: 3" under a heading `retries`.

A question for a default, a constant or a type is answered by reading the syntax that most languages share, which a
small model does worse. Nothing is evaluated.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from retrieval_server.engine.words.asked_words import compacted
from retrieval_server.generation.text.evidence import content_terms
from retrieval_server.generation.text.sentences import line_spans
from retrieval_server.model import ContentKind, Passage

_ASKS_VALUE = re.compile(r"\b(?:default|defaults|value|values|constant|initialised|initialized)\b", re.IGNORECASE)
_ASKS_TYPE = re.compile(
    r"\b(?:type hint|type annotation|data type|annotated|parameter type|of (?:what|which) type)\b", re.IGNORECASE
)
_ASKS_RETURN_TYPE = re.compile(r"\breturn type\b", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_]\w*")
_LOOKS_NAMED = re.compile(r"\w_\w|\d|[a-z][A-Z]|^[A-Z]{2,}$|^_\w")
_CONDITION = re.compile(r"\b(?:when|if|while|unless|where)\b", re.IGNORECASE)
_PLACE_BEFORE = re.compile(r"\b(?:in|inside|within|by|from|calling|creating)\s+(?:the\s+)?(?:\w+\.)*$", re.IGNORECASE)
_POSSESSIVE_AFTER = re.compile(r"['’]s\b")
_CALLABLE_AFTER = re.compile(r"\s+(?:method|function|class|module|kernel|call|enum)\b", re.IGNORECASE)
_VARIABLE_AFTER = re.compile(
    r"(?:\s+and\s+\w+)?\s+(?:parameter|argument|field|attribute|constant|variable|option|flag|setting|key)s?\b",
    re.IGNORECASE,
)
_OF_BEFORE = re.compile(r"\b(?:of|for)\s+(?:the\s+)?(?:\w+\s+and\s+)?$", re.IGNORECASE)
_GIVEN_AFTER = re.compile(r"\s*(?:\bis\b|\bare\b|\bhas\b|=)\s*\S")
_NO_NAMES = frozenset(
    ("argument", "attribute", "class", "constant", "default", "field", "function", "method", "module", "name", "none",
     "parameter", "setting", "true", "false", "type", "value", "variable")
)  # fmt: skip
_VALUE = (
    r"(?<![\w\"'])(?:self\.|--)?{name}(?:\s*:\s*(?P<type>[^=\n,()#]+(?:\[[^=\n#]*\])?))?\s*=(?!=)\s*(?P<value>)"
    r"|(?:[\"']{name}[\"']\s*[,:]|#define\s+{name}\b|\bconst\s+{name}\s*=)\s*(?P<given>)"
)
_TYPE = (
    r"(?<![\w.\"'])(?:self\.)?{name}\s*:\s*"
    r"(?P<value>[A-Za-z_][\w.]*(?:\[[^\n=]*\])?(?:\s*\|\s*[\w.]+(?:\[[^\n=]*\])?)*)(?=\s*[=,)\n])"
)
_RETURN_TYPE = (
    r"\b(?:def|fn|func|function)\s+{name}\s*[(<\[][^;]{{0,1500}}?\)\s*->\s*(?P<value>[^\n{{;]+?)\s*[:{{;]?\s*$"
)
# What the section of a setting tells of it, whatever code that hands it on calls it.
_ASKS_DEFAULT = re.compile(r"\bdefaults?\b", re.IGNORECASE)
_DOCUMENTED = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?[*_]{0,2}default(?: value)?[*_]{0,2}[ \t]*:[*_]{0,2}[ \t]*"
    r"(?:(?P<ticks>`{1,2})(?P<quoted>[^`\n]+)(?P=ticks)"
    r"|(?P<plain>[^\s`][^`\n]{0,80}?)(?=[.;,]?[ \t]*$|[.;,][ \t]|[ \t]\())",
    re.IGNORECASE | re.MULTILINE,
)
_MIN_HEADING_CHARS = 6
_NEAR_LINES = 12
_MAX_NAMES = 3
_MAX_VALUE_CHARS = 160
# A question asks for few names, and what they depend on stands near to them; a long text must not take its square.
_MAX_ASKED_NAMES = 32
_MAX_BEFORE_CHARS = 400
_OPENING, _CLOSING = "([{", ")]}"
_LITERAL = re.compile(r"[-+]?[\d.]|[\"'`([{]|(?:True|False|None|true|false|null|nil|[A-Z][A-Z0-9_]+)\b|[bfr][\"']")
_LITERAL_BONUS = 0.3
_DEFINITION_BONUS = 0.3
_RANK_DISCOUNT = 0.1


@dataclass(frozen=True, slots=True)
class StatedValue:
    """`passages[passage_index].text[start:end]` are the whole lines that state `value`, verbatim, of `name`."""

    passage_index: int
    start: int
    end: int
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class _Found:
    stated: StatedValue
    score: float


def read_values(question: str, passages: Sequence[Passage]) -> tuple[StatedValue, ...]:
    """Return the values or types that are stated of the names that `question` asks for; empty when it asks for none.

    A default that the section of a setting tells comes before what code states. Several only when the question asks for
    several names and one passage states them all.
    """
    pattern_of = _patterns(question)
    if pattern_of is None:
        return ()
    documented = _documented_default(question, passages)
    if documented is not None:
        return (documented,)
    names = list(islice(dict.fromkeys(_asked_names(question)), _MAX_ASKED_NAMES))
    surroundings = content_terms(question)
    found: dict[str, list[_Found]] = {}
    for name in names:
        pattern = pattern_of(name)
        for index, passage in enumerate(passages):
            if passage.kind is not ContentKind.DOCS:
                found.setdefault(name, []).extend(_stated(name, pattern, index, passage, surroundings))
    best = sorted(
        (max(all_of, key=lambda one: one.score) for all_of in found.values() if all_of), key=lambda one: -one.score
    )
    if not best:
        return ()
    first = best[0].stated
    others = [one.stated for one in best[1:_MAX_NAMES] if one.stated.passage_index == first.passage_index]
    if not re.search(r"\b(?:values|defaults|types|constants)\b", question, re.IGNORECASE):
        others = []
    return tuple(sorted((first, *others), key=lambda one: question.find(one.name)))


def _documented_default(question: str, passages: Sequence[Passage]) -> StatedValue | None:
    """Return the "Default: VALUE" of the best section whose heading the question names, None when there is none."""
    asked = compacted(question)
    best: StatedValue | None = None
    for index, passage in enumerate(passages if _ASKS_DEFAULT.search(question) else ()):
        name = compacted(passage.breadcrumbs[-1]) if passage.breadcrumbs else ""
        is_named = passage.kind is ContentKind.DOCS and len(name) >= _MIN_HEADING_CHARS and name in asked
        if not is_named or (best is not None and len(name) <= len(best.name)):
            continue
        match = _DOCUMENTED.search(passage.text)
        if match is not None:
            value = match["quoted"] or match["plain"]
            best = StatedValue(index, match.start(), match.end(), name, value)
    return best


def _patterns(question: str) -> Callable[[str], re.Pattern[str]] | None:
    """Return what finds the asked sort of statement about a name; None when the question asks for none."""
    if _ASKS_RETURN_TYPE.search(question):
        return lambda name: re.compile(_RETURN_TYPE.format(name=re.escape(name)), re.MULTILINE)
    if _ASKS_TYPE.search(question):
        return lambda name: re.compile(_TYPE.format(name=re.escape(name)))
    if _ASKS_VALUE.search(question):
        return lambda name: re.compile(_VALUE.format(name=re.escape(name)))
    return None


def _asked_names(question: str) -> Iterator[str]:
    """Yield the names whose value or type is asked for, not those that say where or when: "x in Y", "Z's", "if w"."""
    of_callable = bool(_ASKS_RETURN_TYPE.search(question))
    for match in _NAME.finditer(question):
        name, start, end = match.group(), match.start(), match.end()
        before = question[max(0, start - _MAX_BEFORE_CHARS) : start]
        if (
            name.lower() in _NO_NAMES
            or _CONDITION.search(before, before.rfind(",") + 1)
            or _POSSESSIVE_AFTER.match(question, end)
            or _GIVEN_AFTER.match(question, end)
        ):
            continue
        if not of_callable and (_PLACE_BEFORE.search(before) or _CALLABLE_AFTER.match(question, end)):
            continue
        if (
            _LOOKS_NAMED.search(name)
            or _VARIABLE_AFTER.match(question, end)
            or (len(name) > 1 and _OF_BEFORE.search(before))
        ):
            yield name


def _stated(
    name: str, pattern: re.Pattern[str], index: int, passage: Passage, asked: frozenset[str]
) -> Iterator[_Found]:
    text = passage.text
    context = content_terms(" ".join((passage.path, *passage.breadcrumbs)))
    spans = line_spans(text)
    starts = [start for start, _ in spans]
    for match in pattern.finditer(text):
        groups = match.groupdict()
        group = next(key for key in ("value", "given") if groups.get(key) is not None)
        value = match.group(group).strip() or _value_at(text, match.start(group))
        if not value or "\n" in value or value in {name, f"self.{name}", "...", "\\"}:
            continue
        first = bisect_right(starts, match.start()) - 1
        last = bisect_right(starts, match.start(group) + len(value)) - 1
        window = text[spans[max(first - _NEAR_LINES, 0)][0] : spans[last][1]]
        score = len(asked & (context | content_terms(window))) / max(len(asked), 1)
        score += _LITERAL_BONUS if _LITERAL.match(value) else 0.0
        score += _DEFINITION_BONUS if groups.get("type") or group == "given" else 0.0
        yield _Found(
            StatedValue(index, spans[first][0], spans[last][1], name, value), score / (1 + _RANK_DISCOUNT * index)
        )


def _value_at(text: str, start: int) -> str:
    """Return the expression that begins at `start`: up to a comma, a closing bracket or the end of its line."""
    depth = 0
    quote = ""
    place = start
    while place < min(len(text), start + _MAX_VALUE_CHARS):
        character = text[place]
        if quote:
            if character == "\\":
                place += 1
            elif character == quote:
                quote = ""
                if not depth and text.startswith(". ", place + 1):  # it stands in a sentence
                    place += 1
                    break
        elif character in "\"'`":
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            if not depth:
                break
            depth -= 1
        elif not depth and (character in ",;\n#" or text.startswith(" //", place)):
            break
        place += 1
    else:
        return "" if depth or quote else text[start:place].strip()
    return text[start:place].strip()
