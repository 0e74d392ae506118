"""Every field of every message crosses the boundary."""

import dataclasses

import pytest
from google.protobuf.descriptor import FieldDescriptor

from client import (
    AnswerFallback,
    AnswerMode,
    AnswerOptions,
    AnswerPriority,
    CondensingMethod,
    DisconnectPolicy,
    FusionOverrides,
    InvalidRequest,
    PackingOptions,
    PackingOrder,
    PassageFilter,
    RetrievalProfile,
    _convert,
    _convert_corpus,
    _convert_evaluation,
    _requests,
)
from client import _answer_types as answers
from client import _corpus_types as corpus
from client import _passage_types as passages
from client.errors import ClientError
from groundwire.v1 import (
    admin_service_pb2,
    answer_pb2,
    answer_service_pb2,
    collection_pb2,
    document_pb2,
    evaluation_service_pb2,
    passage_pb2,
    retrieval_service_pb2,
    snapshot_pb2,
    sync_pb2,
)

SCALARS = {
    FieldDescriptor.CPPTYPE_STRING: "text",
    FieldDescriptor.CPPTYPE_BOOL: True,
    FieldDescriptor.CPPTYPE_DOUBLE: 0.5,
    FieldDescriptor.CPPTYPE_INT32: 3000,
    FieldDescriptor.CPPTYPE_INT64: 4,
}


def fill(message, oneof_choice: str | None = None):
    """Set every field, to any depth; of a oneof, `oneof_choice`."""
    for field in message.DESCRIPTOR.fields:
        if field.containing_oneof is not None and not field.has_presence:
            continue
        in_real_oneof = field.containing_oneof is not None and len(field.containing_oneof.fields) > 1
        if in_real_oneof and field.name != oneof_choice:
            continue
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        if is_map:
            entry = field.message_type.fields_by_name["value"]
            if entry.message_type is None:
                getattr(message, field.name)["key"] = "value"
            else:
                fill(getattr(message, field.name)["key"], "text")
        elif field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            holder = getattr(message, field.name)
            fill(holder.add() if field.is_repeated else holder)
        else:
            if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
                value = field.enum_type.values[-1].number
            else:
                value = b"bytes" if field.type == FieldDescriptor.TYPE_BYTES else SCALARS[field.cpp_type]
            if field.is_repeated:
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)
    return message


def without_each_field(message, path=""):
    """Yield (path, a copy that lacks that field) for every leaf field, to any depth."""
    for field, value in message.ListFields():
        name = f"{path}{field.name}"
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE and not is_map:
            inner = value[0] if field.is_repeated else value
            for inner_name, lacking in without_each_field(inner, f"{name}."):
                copy = type(message)()
                copy.CopyFrom(message)
                holder = getattr(copy, field.name)
                (holder[0] if field.is_repeated else holder).CopyFrom(lacking)
                yield inner_name, copy
        else:
            copy = type(message)()
            copy.CopyFrom(message)
            copy.ClearField(field.name)
            yield name, copy


def plain(value):
    """Return a value that compares by content, errors included."""
    if isinstance(value, ClientError):
        return type(value).__name__, plain(vars(value))
    if dataclasses.is_dataclass(value):
        return type(value).__name__, {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [plain(inner) for inner in value]
    return value


def converted(convert, message):
    try:
        return plain(convert(message))
    except ClientError as error:
        return plain(error)


CASES = [
    (_convert.passage, passage_pb2.Passage, None),
    (_convert.retrieve_result, retrieval_service_pb2.RetrieveResponse, None),
    (_convert.answer_result, answer_pb2.AnswerResult, None),
    *(
        (_convert.answer_event, answer_service_pb2.AnswerEvent, one)
        for one in ("retrieved", "delta", "restarted", "terminal")
    ),
    (_convert_corpus.collection, collection_pb2.Collection, None),
    (_convert_corpus.corpus_stats, collection_pb2.CorpusStats, None),
    (_convert_corpus.document, document_pb2.Document, None),
    (_convert_corpus.snapshot, snapshot_pb2.Snapshot, None),
    (_convert_corpus.rebuild_progress, collection_pb2.RebuildCollectionResponse, None),
    (_convert_corpus.sync_progress, sync_pb2.SyncProgress, None),
    (_convert_corpus.synced_file, sync_pb2.SyncFileStatus, None),
    (_convert.queue_stats, admin_service_pb2.GetQueueStatsResponse, None),
    (_convert.worker, admin_service_pb2.Worker, None),
    (_convert.dead_letter, admin_service_pb2.DeadLetter, None),
    (_convert.server_settings, admin_service_pb2.GetSettingsResponse, None),
    (_convert_evaluation.progress, evaluation_service_pb2.EvaluationProgress, None),
    (_convert_evaluation.retrieval_report, evaluation_service_pb2.RetrievalReport, None),
    (_convert_evaluation.tuning_report, evaluation_service_pb2.TuningReport, None),
    (_convert_evaluation.tuned_fusion, evaluation_service_pb2.TunedFusion, None),
]


@pytest.mark.parametrize(("convert", "message_class", "choice"), CASES)
def test_every_field_of_a_response_crosses(convert, message_class, choice):
    message = fill(message_class(), choice)
    whole = converted(convert, message)
    names = [name for name, lacking in without_each_field(message) if converted(convert, lacking) == whole]
    assert names == []


def test_every_field_of_a_summary_crosses_unless_it_failed():
    message = fill(sync_pb2.SyncSummary())
    failure = converted(_convert_corpus.sync_summary, message)
    assert failure[0] == "ServerFault"
    message.ClearField("status")
    whole = converted(_convert_corpus.sync_summary, message)
    assert [
        name
        for name, lacking in without_each_field(message)
        if converted(_convert_corpus.sync_summary, lacking) == whole
    ] == []


ENUMS = [
    (passages.SpanKind, passage_pb2.SpanKind),
    (passages.ContentKind, passage_pb2.ContentKind),
    (passages.RetrievalProfile, retrieval_service_pb2.RetrievalProfile),
    (passages.AnswerSkippedReason, retrieval_service_pb2.AnswerSkippedReason),
    (answers.AnswerMode, answer_pb2.AnswerMode),
    (answers.AnswerState, answer_pb2.AnswerState),
    (corpus.SyncFileOutcome, sync_pb2.SyncFileOutcome),
    (corpus.SyncPhase, sync_pb2.SyncPhase),
    (corpus.CollectionState, collection_pb2.CollectionState),
    (corpus.Similarity, collection_pb2.Similarity),
]


@pytest.mark.parametrize(("ours", "theirs"), ENUMS)
def test_every_value_of_an_enum_has_a_member(ours, theirs):
    prefix = theirs.Name(0).removesuffix("UNSPECIFIED")
    for name, number in theirs.items():
        assert _convert.enum_of(ours, theirs.Name, prefix, number).name == name.removeprefix(prefix)
    assert _convert.enum_of(ours, theirs.Name, prefix, 9999) == "unknown"


def test_every_served_field_of_a_retrieve_request_can_be_asked_for():
    request = _requests.retrieve_request(
        "q",
        collection="c",
        k=3,
        explain=True,
        max_per_file=2,
        fusion=FusionOverrides(1.0, 0.0, 5, 9, 2.0, 0.1, 0.2, 0.3, 0.4),
        profile=RetrievalProfile.SYMBOL,
        filter=PassageFilter(languages=("python",)),
        hops=2,
        balance=True,
        rerank=False,
    )
    assert {field.name for field, _ in request.ListFields()} == set(request.DESCRIPTOR.fields_by_name)
    assert len(request.fusion.ListFields()) == len(request.fusion.DESCRIPTOR.fields)
    assert request.fusion.HasField("dense_weight")


def test_what_is_none_stays_unset():
    request = _requests.retrieve_request(
        "q", collection="c", k=None, explain=False, max_per_file=None, fusion=FusionOverrides()
    )
    assert not request.HasField("k")
    assert not request.HasField("max_per_file")
    assert not request.fusion.ListFields()


def test_every_served_answer_option_can_be_asked_for():
    options = AnswerOptions(
        mode=AnswerMode.EXTRACTIVE,
        fallback=AnswerFallback.NONE,
        on_disconnect=DisconnectPolicy.KEEP,
        max_completion_tokens=5,
        max_prompt_tokens=300,
        answer_anyway=True,
        closed_book=True,
        min_supported_share=0.7,
        packing=PackingOptions(PackingOrder.BEST_LAST, max_per_source=2, focus_chars=500),
        timeout_s=1.5,
        priority=AnswerPriority.BATCH,
        generate_anew=True,
        rewrite_question=True,
        condensing_method=CondensingMethod.MODEL,
        temperature=0.7,
        top_p=0.9,
        seed=3,
        stops=("x",),
    )
    made = _requests.answer_options(options, timeout_s=9)
    assert {field.name for field, _ in made.ListFields()} == set(made.DESCRIPTOR.fields_by_name)
    assert made.timeout.ToMilliseconds() == 1500


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"query": "half \ud800 a pair"}, "query"),
        ({"collection": "\udcff"}, "collection"),
        ({"k": 10**10}, "k"),
        ({"max_per_file": -(10**12)}, "max_per_file"),
        ({"fusion": FusionOverrides(rank_constant=10**20)}, "fusion"),
    ],
)
def test_what_protobuf_cannot_hold_is_an_invalid_request_that_names_the_field(changes, field):
    arguments = {"query": "q", "collection": "c", "k": 1, "explain": False, "max_per_file": None, "fusion": None}
    arguments |= changes
    with pytest.raises(InvalidRequest) as caught:
        _requests.retrieve_request(arguments.pop("query"), **arguments)
    assert caught.value.field_violations[0].field == field
    assert "\n" not in str(caught.value)
