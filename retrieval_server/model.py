"""The server's own nouns. Protobuf is met in `api/`, in `passage_message.py` and in the queue's messages."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import NamedTuple


class ContentKind(Enum):
    """What sort of content a document holds."""

    CODE = "code"
    DOCS = "docs"
    DATA = "data"


MetadataValue = str | float | tuple[str, ...]
"""A value of a document's metadata; times are RFC 3339 strings, which sort as times do."""


class Profile(Enum):
    """Which constants of ranking suit a query; AUTO lets the server decide."""

    AUTO = "auto"
    PRECISE = "precise"
    EXPLORE = "explore"
    SYMBOL = "symbol"


class SkippedReason(Enum):
    """Why the corpus is thought not to hold an answer."""

    NO_PASSAGES = "no_passages"
    LOW_RELEVANCE = "low_relevance"
    NOT_IN_PASSAGES = "not_in_passages"


class ListScore(NamedTuple):
    """One ranked list's part in a passage's score; rank is from 1, 0 when the passage is not in the list.

    A tuple: every query makes some hundreds of these.
    """

    list_name: str
    rank: int
    raw_score: float
    contribution: float
    matched_terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prior:
    """A factor that multiplied a passage's fused score, and why."""

    name: str
    factor: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A span of a document: offsets are code points, `end_char` exclusive; lines are from 1, `end_line` inclusive.

    The text is what stands at the span, unless it is derived: then it was made of that, which is `origin_text`, and has
    no offsets of its own, so that it can be neither cut nor joined.
    """

    passage_id: str
    document_id: str
    path: str
    start_char: int
    end_char: int
    start_line: int
    end_line: int
    text: str
    breadcrumbs: tuple[str, ...]
    language: str
    kind: ContentKind
    score: float = 0.0
    list_scores: tuple[ListScore, ...] = ()
    priors: tuple[Prior, ...] = ()
    hop: int = 1
    is_derived: bool = False
    origin_text: str = ""


@dataclass(frozen=True, slots=True)
class FusionConstants:
    """The constants of ranking.

    Fused scores are `Σ_i weight_i / (rank_constant + rank_i)` over the lists; a signal that holds by share s, 0 to 1,
    multiplies them by 1 + weight · s.
    """

    lexical_weight: float = 2.0
    dense_weight: float = 1.0
    rank_constant: int = 10
    pool_count: int = 40
    expanded_weight: float = 1.0
    # The list of the chunks that define the name which is the query.
    definition_weight: float = 0.0
    # How far the scores of the lists decide among what leads by rank: 0 not at all, 1 alone.
    margin_weight: float = 1.0
    proximity_weight: float = 0.5
    path_weight: float = 0.2
    # A document's passages share the sum of its best so many scores; 0 leaves each its own.
    file_passage_count: int = 0
    max_per_file: int | None = None


@dataclass(frozen=True, slots=True)
class FusionOverrides:
    """What a request sets of the constants of its profile; None keeps the profile's."""

    lexical_weight: float | None = None
    dense_weight: float | None = None
    rank_constant: int | None = None
    pool_count: int | None = None
    expanded_weight: float | None = None
    definition_weight: float | None = None
    margin_weight: float | None = None
    proximity_weight: float | None = None
    path_weight: float | None = None

    def over(self, constants: FusionConstants) -> FusionConstants:
        """Return `constants` with what is set here in their place."""
        names = self.__slots__
        return replace(constants, **{n: getattr(self, n) for n in names if getattr(self, n) is not None})


@dataclass(frozen=True, slots=True)
class MetadataCondition:
    """A condition on one metadata key; exactly one form is set, an end that is None is open.

    A list meets it when one of its texts does; a number equals the text that writes it.
    """

    key: str
    equals: str | None = None
    numbers: tuple[float | None, float | None] | None = None
    times: tuple[datetime | None, datetime | None] | None = None


@dataclass(frozen=True, slots=True)
class PassageFilter:
    """All that is given must hold, and of several values of one condition any, but `contains`, which must all hold."""

    include_paths: tuple[str, ...] = ()
    exclude_paths: tuple[str, ...] = ()
    languages: frozenset[str] = frozenset()
    kinds: frozenset[ContentKind] = frozenset()
    contains: tuple[str, ...] = ()
    metadata: tuple[MetadataCondition, ...] = ()


EVERYTHING = PassageFilter()
"""The filter that restricts nothing."""


@dataclass(frozen=True, slots=True)
class RetrieveQuery:
    """A checked request to retrieve."""

    query: str
    collection: str = "default"
    k: int = 10
    profile: Profile = Profile.AUTO
    fusion: FusionOverrides = field(default_factory=FusionOverrides)
    filter: PassageFilter = EVERYTHING
    explain: bool = False
    max_per_file: int | None = None
    hops: int = 1
    balance: bool = False
    # None: if there is a reranker.
    rerank: bool | None = None


@dataclass(frozen=True, slots=True)
class SecondHop:
    """What a second hop asked: its query, and the terms in it that passages of the first hop introduced."""

    query: str
    introduced_terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RetrieveResult:
    """Passages, best first, and the view of the index that they were found in."""

    passages: tuple[Passage, ...]
    index_generation: int
    vector_epoch: int
    dense_coverage: float
    answerability: float
    skipped_reason: SkippedReason | None
    elapsed_s: float
    profile_used: Profile = Profile.PRECISE
    profile_explanation: str = ""
    second_hop: SecondHop | None = None
