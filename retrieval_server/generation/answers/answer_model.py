"""The nouns of answering, without protobuf: what is asked, what is told on the way, and what comes out."""

from dataclasses import dataclass, field
from enum import Enum

from retrieval_server.errors import GroundwireError, Reason
from retrieval_server.generation.answers.sampling import Sampling
from retrieval_server.generation.packing.packing import Packing, PackingOptions
from retrieval_server.generation.questions.condensing import Condensing, Conversation
from retrieval_server.model import Passage, RetrieveQuery, SkippedReason

DEFAULT_MIN_SUPPORTED = 0.5
"""Share of an answer's characters that must be supported: an answer most of which nothing backs misleads."""


class AnswerMode(Enum):
    """How an answer is made."""

    STUFF = "stuff"
    EXTRACTIVE = "extractive"
    RAG_SEQUENCE = "rag_sequence"
    RAG_TOKEN = "rag_token"  # noqa: S105 - a mode of decoding


class Fallback(Enum):
    """What to do when nothing can be generated, or what was generated fails its check."""

    EXTRACTIVE = "extractive"
    NONE = "none"


class OnDisconnect(Enum):
    """What happens to a job when the last caller that waits for it goes away."""

    CANCEL = "cancel"
    KEEP = "keep"


class Priority(Enum):
    """Who goes first when more jobs wait than workers can take."""

    INTERACTIVE = "interactive"
    BATCH = "batch"


class AnswerState(Enum):
    """How an answer ended."""

    ANSWERED = "answered"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How to answer; checked."""

    mode: AnswerMode
    fallback: Fallback
    on_disconnect: OnDisconnect
    max_completion_tokens: int
    max_prompt_tokens: int
    answer_anyway: bool
    timeout_s: float
    closed_book: bool = False
    min_supported: float = DEFAULT_MIN_SUPPORTED
    packing: PackingOptions = field(default_factory=PackingOptions)
    copy_bonus: float = 0.0
    priority: Priority = Priority.INTERACTIVE
    generate_anew: bool = False
    sampling: Sampling = field(default_factory=Sampling)


@dataclass(frozen=True, slots=True)
class Question:
    """A checked request to answer. `request_hash` is equal for equal requests, whoever sends them.

    `retrieve.query` is the question as it stands by itself, after the conversation has been read: by rule at first,
    and while `for_model` is set, a model is still to be asked. `caller` is whom its turn in the queue is counted to.
    """

    retrieve: RetrieveQuery
    options: AnswerOptions
    request_id: str
    request_hash: bytes
    id_is_callers: bool
    caller: str = ""
    condensing: Condensing = field(default_factory=Condensing)
    for_model: Conversation | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """A span of a document that backs an answer: `document_text[start_char:end_char] == text`; lines are from 1.

    For a derived passage that is its origin, whatever of it backs the answer.
    """

    path: str
    start_char: int
    end_char: int
    start_line: int
    end_line: int
    text: str
    passage_index: int


@dataclass(frozen=True, slots=True)
class SentenceSupport:
    """The verdict on `answer[start_char:end_char]`."""

    start_char: int
    end_char: int
    supported: bool
    citation_indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PassageWeight:
    """Probability that a packed passage is the one to answer from, before and after the answer is known."""

    packed_index: int
    prior: float
    posterior: float
    wrote_answer: bool = False


@dataclass(frozen=True, slots=True)
class Generator:
    """What made an answer; `fallback_reason` says why it is not what was asked for."""

    model: str
    mode: AnswerMode
    fallback_reason: Reason.ValueType | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dropped_passage_indexes: tuple[int, ...] = ()
    from_cache: bool = False
    passage_weights: tuple[PassageWeight, ...] = ()
    backend: str = ""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What was found, and how the question was made that it was found for; the first event of every answer."""

    request_id: str
    passages: tuple[Passage, ...]
    index_generation: int
    condensing: Condensing = field(default_factory=Condensing)


@dataclass(frozen=True, slots=True)
class Delta:
    """More text of the current attempt."""

    text: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """A new attempt begins: the text so far is void."""

    attempt: int
    reason: Reason.ValueType


@dataclass(frozen=True, slots=True)
class Result:
    """The whole of an answer; `error` says why there is none, unless it was ANSWERED or SKIPPED.

    `question` is what was searched and answered; `packing` is what a model was given, None when none was asked.
    """

    retrieved: Retrieved
    state: AnswerState
    text: str = ""
    citations: tuple[Citation, ...] = ()
    sentences: tuple[SentenceSupport, ...] = ()
    generator: Generator | None = None
    skipped_reason: SkippedReason | None = None
    error: GroundwireError | None = None
    attempt_count: int = 1
    question: str = ""
    missing_words: tuple[str, ...] = ()
    packing: Packing | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One numbered event of an answer; the last one, and only it, is a Result."""

    sequence: int
    content: Retrieved | Delta | Restarted | Result
