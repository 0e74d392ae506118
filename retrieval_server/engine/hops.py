"""The second hop: what the first passages introduced, asked again together with what they left open.

"On which port does the dashboard listen?" may take two facts in two places: one passage says which program the
dashboard is, another gives that program's port. The first hop finds the first one, and the name in it is the bridge
to the second (as in multi-hop retrieval after Das et al. 2019, https://doi.org/10.18653/v1/D19-5816).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from retrieval_server.engine.lexical.bm25 import LexicalQuery, LexicalView, lexical_query
from retrieval_server.engine.ranking.candidates import Candidates, Question
from retrieval_server.engine.words.analyser import analyse_terms
from retrieval_server.engine.words.stop_words import STOP_TERMS
from retrieval_server.model import Passage, SecondHop

READ_PASSAGE_COUNT = 3
_MAX_INTRODUCED_TERMS = 4
_MAX_READ_WORDS = 2000
_MAX_NAME_CHARS = 80
# A bridge leads somewhere: a second chunk has it. And not everywhere: few chunks have it.
_MIN_CHUNKS = 2
_FEW_CHUNKS = 5
_FEW_CHUNKS_SHARE = 0.02
# So many words away, nearness to a word of the query counts half.
_HALF_DISTANCE_WORDS = 8
# In a passage whose words are all far from the query's, its path and headings brought it here.
_MIN_NEARNESS = 0.1
# What the first hop answered is context of the second and not its subject.
_COVERED_WEIGHT = 0.3

# Words with what joins them into one name: node-exporter, conf/ports.toml, http_server, engine.step, HOST:PORT.
_NAME = re.compile(r"\w+(?:[./:@-]\w+)*")
_JOINED = re.compile(r"[\w)][./:@_-]\w")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_SENTENCE_END = re.compile(r"[.!?:]\s*[\"')\]]*\s*\Z|\n\s*(?:[#>*+-]+|\d+[.)])?\s*\Z|\A\s*[#>*+-]*\s*\Z")
_QUOTES = "`\"'"
# The one value of a line such as `host = "gull"` or `host: gull`.
_KEY_BEFORE = re.compile(r"(?:\A|\n)[ \t]*[\"']?[\w.-]+[\"']?[ \t]*[=:][ \t]*[\"'`]?\Z")
_NOTHING_AFTER = re.compile(r"[\"'`,;]*[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_LOOKED_BACK_CHARS = 60
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Bridge:
    """What the second hop asks; a passage answers it only if it has one of the `introduced` terms."""

    question: Question
    introduced: LexicalQuery
    asked: SecondHop


@dataclass(frozen=True, slots=True)
class _Word:
    surface: str
    terms: frozenset[str]
    is_name: bool


def bridge(query: str, passages: Sequence[Passage], lexical: LexicalView) -> Bridge | None:
    """Return the question of the second hop, or None when the passages, best first, introduce nothing that leads on."""
    query_terms = frozenset(lexical_query(query).weight_by_term) - STOP_TERMS
    idf_by_term = {term: lexical.idf(term) for term in query_terms}
    worth: dict[str, float] = {}
    terms_of: dict[str, frozenset[str]] = {}
    for rank, passage in enumerate(passages[:READ_PASSAGE_COUNT], start=1):
        for word, nearness in _names_near(passage, idf_by_term):
            leading = _leading_terms(word.terms - query_terms, lexical)
            if leading:
                terms_of[word.surface] = leading
                value = nearness * max(map(lexical.idf, leading)) / rank
                worth[word.surface] = max(worth.get(word.surface, 0.0), value)
    introduced: list[str] = []
    for surface in sorted(worth, key=lambda s: (-worth[s], s)):
        if len(introduced) < _MAX_INTRODUCED_TERMS and all(terms_of[surface] != terms_of[one] for one in introduced):
            introduced.append(surface)
    if not introduced:
        return None
    weights: dict[str, float] = {}
    for surface in reversed(introduced):
        weights |= dict.fromkeys(sorted(terms_of[surface]), worth[surface] / worth[introduced[0]])
    return _bridge(query, query_terms, passages[0], introduced, weights)


def answering(found: Candidates, bridged: Bridge, read_chunk_ids: AbstractSet[int], lexical: LexicalView) -> Candidates:
    """Return the candidates that hold a term which was introduced, without those that introduced it.

    Only these can be what the second hop is about; the others are the first hop's.
    """
    count = sum(lexical.chunk_count_of(term) for term in bridged.introduced.weight_by_term)
    holding = {chunk_id for chunk_id, _ in lexical.search(bridged.introduced, count)} - read_chunk_ids
    return replace(found, ranked=[candidate for candidate in found.ranked if candidate.chunk_id in holding])


def _bridge(
    query: str,
    query_terms: frozenset[str],
    first: Passage,
    introduced: Sequence[str],
    weight_by_new_term: Mapping[str, float],
) -> Bridge:
    covered = query_terms & frozenset(analyse_terms(f"{' '.join(first.breadcrumbs)}\n{first.text}"))
    weights = {term: _COVERED_WEIGHT if term in covered else 1.0 for term in sorted(query_terms)}
    words = (found.group() for found in _NAME.finditer(query))
    left_open = [word for word in words if frozenset(analyse_terms(word)) & (query_terms - covered)]
    text = " ".join((*introduced, *left_open))
    return Bridge(
        Question(LexicalQuery({**weight_by_new_term, **weights}), None, text),
        LexicalQuery(dict(weight_by_new_term)),
        SecondHop(text, tuple(introduced)),
    )


def _leading_terms(terms: frozenset[str], lexical: LexicalView) -> frozenset[str]:
    """Return the new terms of a name by which it leads to another chunk; none when it does not lead there whole."""
    few = max(_FEW_CHUNKS, lexical.chunk_count * _FEW_CHUNKS_SHARE)
    counts = {term: lexical.chunk_count_of(term) for term in terms - STOP_TERMS}
    if min(counts.values(), default=0) < _MIN_CHUNKS:
        return frozenset()
    return frozenset(term for term, count in counts.items() if count <= few)


def _names_near(passage: Passage, idf_by_term: Mapping[str, float]) -> Iterator[tuple[_Word, float]]:
    """Yield the names in a passage, and how near each is to words of the query: 0 to 1, rarer words counting more."""
    words = list(_words(passage.text.replace("\r\n", "\n").replace("\r", "\n")))
    heaviest = max(idf_by_term.values(), default=0.0) or 1.0
    asked = [
        (place, max(idf_by_term[term] for term in word.terms & idf_by_term.keys()) / heaviest)
        for place, word in enumerate(words)
        if word.terms & idf_by_term.keys()
    ]
    for place, word in enumerate(words):
        if word.is_name:
            near = (weight * _HALF_DISTANCE_WORDS / (_HALF_DISTANCE_WORDS + abs(place - at)) for at, weight in asked)
            yield word, max(_MIN_NEARNESS, max(near, default=0.0))


def _words(text: str) -> Iterator[_Word]:
    for number, found in enumerate(_NAME.finditer(text)):
        if number >= _MAX_READ_WORDS:
            return
        surface = found.group()
        yield _Word(surface, frozenset(analyse_terms(surface)), _is_name(surface, text, found.start(), found.end()))


def _is_name(surface: str, text: str, start: int, end: int) -> bool:
    """Tell whether a word names something, by how it is written; numbers are answers and name nothing."""
    if not _LETTER.search(surface) or len(surface) > _MAX_NAME_CHARS:
        return False
    if _JOINED.search(surface) or _CAMEL.search(surface) or surface.isupper() or any(map(str.isdigit, surface)):
        return True
    before = text[max(0, start - _LOOKED_BACK_CHARS) : start]
    if before and before[-1] in _QUOTES and text[end : end + 1] == before[-1]:
        return True
    if _KEY_BEFORE.search(before) and _NOTHING_AFTER.match(text, end):
        return True
    return surface[0].isupper() and not _SENTENCE_END.search(before)
