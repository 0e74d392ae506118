"""What a search returns."""

from dataclasses import dataclass
from enum import StrEnum

from client.errors import ClientError


class SpanKind(StrEnum):
    """How a passage's text relates to the stored text of its document."""

    UNSPECIFIED = "unspecified"
    VERBATIM = "verbatim"
    DERIVED = "derived"
    UNKNOWN = "unknown"


class ContentKind(StrEnum):
    """What sort of content a document or passage holds."""

    UNSPECIFIED = "unspecified"
    CODE = "code"
    DOCS = "docs"
    DATA = "data"
    UNKNOWN = "unknown"


class RetrievalProfile(StrEnum):
    """Which constants of ranking were used."""

    UNSPECIFIED = "unspecified"
    AUTO = "auto"
    PRECISE = "precise"
    EXPLORE = "explore"
    SYMBOL = "symbol"
    UNKNOWN = "unknown"


class AnswerSkippedReason(StrEnum):
    """Why the corpus is thought not to hold an answer; UNSPECIFIED when it may hold one."""

    UNSPECIFIED = "unspecified"
    NO_PASSAGES = "no_passages"
    LOW_RELEVANCE = "low_relevance"
    NOT_IN_PASSAGES = "not_in_passages"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ListScore:
    """One ranked list's part in a passage's score; rank is from 1, 0 when the passage is not in the list."""

    list: str
    rank: int
    raw_score: float
    contribution: float
    matched_terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prior:
    """A factor that multiplied a passage's fused score, and why."""

    name: str
    factor: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A span of a document: offsets are code points, `end_char` exclusive; lines are from 1, `end_line` inclusive.

    A derived text was made of what stands at the span, which is `origin_text` then, and empty otherwise.
    """

    passage_id: str
    document_id: str
    path: str
    start_char: int
    end_char: int
    start_line: int
    end_line: int
    text: str
    span_kind: SpanKind
    breadcrumbs: tuple[str, ...]
    language: str
    kind: ContentKind
    score: float
    list_scores: tuple[ListScore, ...]
    priors: tuple[Prior, ...]
    hop: int
    """The hop that found it, 1 or 2; score and list_scores are of that hop's query."""
    origin_text: str = ""


@dataclass(frozen=True, slots=True)
class FusionOverrides:
    """Constants of ranking for one request; None keeps the collection's, or the profile's."""

    lexical_weight: float | None = None
    dense_weight: float | None = None
    rank_constant: int | None = None
    pool_count: int | None = None
    expanded_weight: float | None = None
    margin_weight: float | None = None
    proximity_weight: float | None = None
    path_weight: float | None = None
    definition_weight: float | None = None


@dataclass(frozen=True, slots=True)
class SecondHop:
    """What was asked after the first passages had been read, and the names in it that they had introduced."""

    query: str
    introduced_terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RetrieveResult:
    """Passages, best first, and the view of the index that they were found in.

    `dense_coverage` below 1 means that vectors are still being computed and only lexical search was used.
    """

    passages: tuple[Passage, ...]
    index_generation: int
    vector_epoch: int
    dense_coverage: float
    answerability: float
    answer_skipped_reason: AnswerSkippedReason
    profile_used: RetrievalProfile
    profile_explanation: str
    elapsed_s: float
    second_hop: SecondHop | None


@dataclass(frozen=True, slots=True)
class RetrieveOutcome:
    """One query of a batch, by its place in it: exactly one of `result` and `error` is set."""

    item_index: int
    result: RetrieveResult | None
    error: ClientError | None
