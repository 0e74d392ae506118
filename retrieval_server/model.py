"""The server's own nouns. Protobuf is met in `api/`, in `passage_message.py` and in the queue's messages."""

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class ContentKind(Enum):
    """What sort of content a document holds."""

    CODE = "code"
    DOCS = "docs"
    DATA = "data"


class SkippedReason(Enum):
    """Why the corpus is thought not to hold an answer."""

    NO_PASSAGES = "no_passages"
    LOW_RELEVANCE = "low_relevance"


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
    """A span of a document: offsets are code points, `end_char` exclusive; lines are from 1, `end_line` inclusive."""

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


@dataclass(frozen=True, slots=True)
class FusionConstants:
    """Weights and constants of `score(d) = Σ_i weight_i / (rank_constant + rank_i(d))`."""

    lexical_weight: float = 3.0
    dense_weight: float = 1.0
    rank_constant: int = 5
    pool_count: int = 60


@dataclass(frozen=True, slots=True)
class RetrieveQuery:
    """A checked request to retrieve."""

    query: str
    collection: str = "default"
    k: int = 10
    fusion: FusionConstants = field(default_factory=FusionConstants)
    explain: bool = False
    max_per_file: int | None = None


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
