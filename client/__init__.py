"""The groundwire client library.

    from client import Client

    with Client("127.0.0.1:50051") as client:
        for passage in client.retrieve("What does the scheduler do?", k=5).passages:
            print(passage.path, passage.start_line)

`AsyncClient` has the same methods for event loops. This is the whole public surface; every other module is private.
Names are loaded when they are first used, so that the command line can show its help without loading gRPC.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from client._names import MODULE_OF_NAME

if TYPE_CHECKING:
    from client._aio import AsyncClient
    from client._answer_types import (
        AnswerDelta,
        AnswerEvent,
        AnswerFallback,
        AnswerFinished,
        AnswerMode,
        AnswerOptions,
        AnswerOutcome,
        AnswerPriority,
        AnswerRestarted,
        AnswerResult,
        AnswerRetrieved,
        AnswerState,
        Citation,
        CondensingMethod,
        ConversationTurn,
        DisconnectPolicy,
        DroppedPassage,
        GeneratorInfo,
        PackedPassage,
        PackingOptions,
        PackingOrder,
        PassageDropReason,
        PassageWeight,
        QuestionCondensing,
        SentenceSupport,
    )
    from client._channel import Timeouts
    from client._corpus_types import (
        UNSET,
        Collection,
        CollectionState,
        CorpusStats,
        DeletedDocument,
        DeletedDocuments,
        Document,
        DocumentKey,
        MetadataValue,
        RebuildProgress,
        ServerSettings,
        Similarity,
        Snapshot,
        SourceStats,
        SyncedFile,
        SyncFileOutcome,
        SyncPhase,
        SyncProgress,
        SyncSummary,
        Unset,
        WrittenDocument,
    )
    from client._evaluation_types import (
        EvaluationProgress,
        LabelledQuestion,
        LabelledSpan,
        RankingMeasures,
        RecallAtCutoff,
        RetrievalReport,
        TunedFusion,
        TuningReport,
    )
    from client._filter_types import MetadataCondition, PassageFilter
    from client._health import Health
    from client._passage_types import (
        AnswerSkippedReason,
        ContentKind,
        FusionOverrides,
        ListScore,
        Passage,
        Prior,
        RetrievalProfile,
        RetrieveOutcome,
        RetrieveResult,
        SecondHop,
        SpanKind,
    )
    from client._queue_types import DeadLetter, QueueStats, Worker
    from client._sync import Client, Stream
    from client._synonym_calls import SynonymGroup
    from client.errors import (
        Cancelled,
        ClientError,
        Conflict,
        DeadlineExceeded,
        FailedPrecondition,
        FieldViolation,
        InvalidRequest,
        NotFound,
        NotServed,
        Overloaded,
        ServerFault,
        Unavailable,
    )

__all__ = [
    "UNSET",
    "AnswerDelta",
    "AnswerEvent",
    "AnswerFallback",
    "AnswerFinished",
    "AnswerMode",
    "AnswerOptions",
    "AnswerOutcome",
    "AnswerPriority",
    "AnswerRestarted",
    "AnswerResult",
    "AnswerRetrieved",
    "AnswerSkippedReason",
    "AnswerState",
    "AsyncClient",
    "Cancelled",
    "Citation",
    "Client",
    "ClientError",
    "Collection",
    "CollectionState",
    "CondensingMethod",
    "Conflict",
    "ContentKind",
    "ConversationTurn",
    "CorpusStats",
    "DeadLetter",
    "DeadlineExceeded",
    "DeletedDocument",
    "DeletedDocuments",
    "DisconnectPolicy",
    "Document",
    "DocumentKey",
    "DroppedPassage",
    "EvaluationProgress",
    "FailedPrecondition",
    "FieldViolation",
    "FusionOverrides",
    "GeneratorInfo",
    "Health",
    "InvalidRequest",
    "LabelledQuestion",
    "LabelledSpan",
    "ListScore",
    "MetadataCondition",
    "MetadataValue",
    "NotFound",
    "NotServed",
    "Overloaded",
    "PackedPassage",
    "PackingOptions",
    "PackingOrder",
    "Passage",
    "PassageDropReason",
    "PassageFilter",
    "PassageWeight",
    "Prior",
    "QuestionCondensing",
    "QueueStats",
    "RankingMeasures",
    "RebuildProgress",
    "RecallAtCutoff",
    "RetrievalProfile",
    "RetrievalReport",
    "RetrieveOutcome",
    "RetrieveResult",
    "SecondHop",
    "SentenceSupport",
    "ServerFault",
    "ServerSettings",
    "Similarity",
    "Snapshot",
    "SourceStats",
    "SpanKind",
    "Stream",
    "SyncFileOutcome",
    "SyncPhase",
    "SyncProgress",
    "SyncSummary",
    "SyncedFile",
    "SynonymGroup",
    "Timeouts",
    "TunedFusion",
    "TuningReport",
    "Unavailable",
    "Unset",
    "Worker",
    "WrittenDocument",
]


def __getattr__(name: str) -> object:
    """Load a public name on first use."""
    module = MODULE_OF_NAME.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(module), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
