"""What an answer is made of."""

from dataclasses import dataclass
from enum import StrEnum

from client._passage_types import AnswerSkippedReason, Passage
from client.errors import ClientError


class AnswerMode(StrEnum):
    """How an answer is made from passages."""

    UNSPECIFIED = "unspecified"
    STUFF = "stuff"
    EXTRACTIVE = "extractive"
    RAG_SEQUENCE = "rag_sequence"
    RAG_TOKEN = "rag_token"  # noqa: S105 - a mode of decoding
    UNKNOWN = "unknown"


class AnswerFallback(StrEnum):
    """What to do when nothing can be generated, or what was generated fails its check."""

    EXTRACTIVE = "extractive"
    NONE = "none"


class DisconnectPolicy(StrEnum):
    """What happens to a job when its caller goes away."""

    CANCEL = "cancel"
    KEEP = "keep"


class AnswerPriority(StrEnum):
    """Who goes first when more jobs wait than workers can take."""

    INTERACTIVE = "interactive"
    BATCH = "batch"


class CondensingMethod(StrEnum):
    """By what a question is made one that stands by itself."""

    RULE = "rule"
    MODEL = "model"
    UNSPECIFIED = "unspecified"
    UNKNOWN = "unknown"


class AnswerState(StrEnum):
    """How an answer ended."""

    UNSPECIFIED = "unspecified"
    ANSWERED = "answered"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    FAILED = "failed"
    UNKNOWN = "unknown"


class PackingOrder(StrEnum):
    """The order of the passages in the prompt."""

    BEST_FIRST = "best_first"
    BEST_LAST = "best_last"
    DOCUMENT = "document"


class PassageDropReason(StrEnum):
    """Why the model was given nothing of a passage."""

    BUDGET = "budget"
    PER_SOURCE = "per_source"
    DUPLICATE = "duplicate"
    FOCUS = "focus"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PackingOptions:
    """What of the passages the model is given; None leaves it to the server, 0 `focus_chars` are whole passages."""

    order: PackingOrder | None = None
    max_per_source: int | None = None
    focus_chars: int | None = None


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """An earlier question with its answer."""

    question: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class PackedPassage:
    """A span that the model was given, and the passages, by index, that it comes from."""

    path: str
    start_char: int
    end_char: int
    passage_indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DroppedPassage:
    """A passage, by index, of which the model was given nothing."""

    passage_index: int
    reason: PassageDropReason


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How to answer; None leaves it to the server. `timeout_s` is the time that the job may take.

    A `temperature` above 0 lets chance have a say, the same each time for the same `seed`.
    """

    mode: AnswerMode | None = None
    fallback: AnswerFallback | None = None
    on_disconnect: DisconnectPolicy | None = None
    max_completion_tokens: int | None = None
    max_prompt_tokens: int | None = None
    answer_anyway: bool = False
    closed_book: bool = False
    min_supported_share: float | None = None
    packing: PackingOptions | None = None
    timeout_s: float | None = None
    priority: AnswerPriority | None = None
    generate_anew: bool = False
    rewrite_question: bool = False
    condensing_method: CondensingMethod | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """A span of the corpus that backs the answer; the server has checked that the text stands there."""

    path: str
    start_char: int
    end_char: int
    start_line: int
    end_line: int
    text: str
    passage_index: int


@dataclass(frozen=True, slots=True)
class SentenceSupport:
    """The verdict on one sentence of the answer; offsets are code points of the answer's text."""

    start_char: int
    end_char: int
    supported: bool
    citation_indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PassageWeight:
    """What a packed passage, by index, counted: its probability by retrieval, and once the answer is known."""

    packed_index: int
    prior: float
    posterior: float
    wrote_answer: bool


@dataclass(frozen=True, slots=True)
class GeneratorInfo:
    """What made an answer; `fallback_reason` says why it is not the mode asked for, empty when it is."""

    model: str
    mode: AnswerMode
    fallback_reason: str
    prompt_tokens: int
    completion_tokens: int
    dropped_passage_indexes: tuple[int, ...]
    from_cache: bool
    passage_weights: tuple[PassageWeight, ...]
    backend: str


@dataclass(frozen=True, slots=True)
class QuestionCondensing:
    """How the standalone question was made; `fallback_reason` says why by rule although a model was asked, else empty.

    `method` is UNSPECIFIED from servers that know of no models.
    """

    method: CondensingMethod
    fallback_reason: str
    fallback_message: str
    model: str


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """The whole of an answer. `error` says why there is none, unless it was ANSWERED or SKIPPED."""

    request_id: str
    state: AnswerState
    text: str
    citations: tuple[Citation, ...]
    sentences: tuple[SentenceSupport, ...]
    generator: GeneratorInfo
    answer_skipped_reason: AnswerSkippedReason
    error: ClientError | None
    passages: tuple[Passage, ...]
    index_generation: int
    attempt_count: int
    standalone_question: str
    missing_words: tuple[str, ...]
    packed_passages: tuple[PackedPassage, ...]
    dropped_passages: tuple[DroppedPassage, ...]
    condensing: QuestionCondensing


@dataclass(frozen=True, slots=True)
class AnswerRetrieved:
    """The first event: what was found, and the id for `cancel_answer` and `attach_answer`."""

    sequence: int
    request_id: str
    passages: tuple[Passage, ...]
    index_generation: int


@dataclass(frozen=True, slots=True)
class AnswerDelta:
    """More text of the current attempt."""

    sequence: int
    text: str


@dataclass(frozen=True, slots=True)
class AnswerRestarted:
    """A new attempt begins: drop the text received so far."""

    sequence: int
    attempt: int
    reason: str


@dataclass(frozen=True, slots=True)
class AnswerFinished:
    """The end: exactly one a stream, always the last event."""

    sequence: int
    result: AnswerResult


AnswerEvent = AnswerRetrieved | AnswerDelta | AnswerRestarted | AnswerFinished


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """One question of a batch, by its place in it: exactly one of `result` and `error` is set."""

    item_index: int
    result: AnswerResult | None
    error: ClientError | None
