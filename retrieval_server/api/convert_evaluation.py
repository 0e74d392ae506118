"""Labelled questions and reports between protobuf and the server's own nouns."""

from collections.abc import Iterable, Sequence

from groundwire.recall import cutoffs, wilson_interval
from groundwire.v1 import evaluation_service_pb2, retrieval_service_pb2
from retrieval_server.api.convert import checked_query, profile_to_pb, retrieve_query
from retrieval_server.corpus.evaluating import MIN_TUNED_QUESTIONS, Progress, Tuned
from retrieval_server.engine.tuning.labels import GoldSpan, LabelledQuestion
from retrieval_server.engine.tuning.tuning import Measures
from retrieval_server.errors import FieldError, InvalidRequest, beyond_limit
from retrieval_server.model import FusionOverrides, RetrieveQuery
from retrieval_server.settings import ServerSettings

_MAX_QUESTIONS = 2000
# Each passage that is found is compared with each of them.
_MAX_SOURCES = 1000


def question_set(
    request: evaluation_service_pb2.EvaluateRetrievalRequest | evaluation_service_pb2.TuneFusionRequest,
    settings: ServerSettings,
    min_count: int = 1,
) -> tuple[RetrieveQuery, list[LabelledQuestion]]:
    """Return what all questions are searched with, its text a stand-in, and the questions. Raises InvalidRequest."""
    count = len(request.questions)
    if count < min_count:
        given = "1 question is" if count == 1 else f"{count or 'no'} questions are"
        raise InvalidRequest(FieldError("questions", f"{given} given, at least {min_count} are needed"))
    if count > _MAX_QUESTIONS:
        raise beyond_limit(
            "questions", f"{count:,}, the limit is {_MAX_QUESTIONS:,}", limit=_MAX_QUESTIONS, actual=count
        )
    questions = [_labelled(one, f"questions[{i}].", settings) for i, one in enumerate(request.questions)]
    retrieve = retrieval_service_pb2.RetrieveRequest()
    retrieve.CopyFrom(request.retrieve)
    retrieve.query = questions[0].text
    return retrieve_query(retrieve, settings, "retrieve."), questions


def tuned_set(
    request: evaluation_service_pb2.TuneFusionRequest, settings: ServerSettings
) -> tuple[RetrieveQuery, list[LabelledQuestion]]:
    """Return the same of a request to tune."""
    query, questions = question_set(request, settings, MIN_TUNED_QUESTIONS)
    if query.hops > 1:
        raise InvalidRequest(FieldError("retrieve.hops", f"{query.hops}, and weights are tuned on one hop"))
    if query.balance:
        raise InvalidRequest(FieldError("retrieve.balance", "must not be set: weights are tuned on one order"))
    if query.rerank:
        raise InvalidRequest(FieldError("retrieve.rerank", "must not be true: a cross-encoder takes no part"))
    return query, questions


def progress_to_pb(progress: Progress) -> evaluation_service_pb2.EvaluationProgress:
    """Return the message."""
    return evaluation_service_pb2.EvaluationProgress(done_count=progress.done_count, total_count=progress.total_count)


def retrieval_report(ranks: Sequence[int | None], k: int) -> evaluation_service_pb2.RetrievalReport:
    """Return the report on the first hits of at least one question."""
    return evaluation_service_pb2.RetrievalReport(
        recalls=[_recall(ranks, cutoff) for cutoff in cutoffs(k)],
        mean_reciprocal_rank=sum(1 / rank for rank in ranks if rank) / len(ranks),
        first_hit_ranks=[rank or 0 for rank in ranks],
    )


def tuning_report(tuned: Tuned) -> evaluation_service_pb2.TuningReport:
    """Return the message."""
    report = tuned.report
    return evaluation_service_pb2.TuningReport(
        profile=profile_to_pb(tuned.profile),
        fusion=fusion_to_pb(report.setting),
        worth_keeping=report.is_worth_keeping,
        applied=tuned.is_applied,
        question_count=tuned.question_count,
        other_profile_count=tuned.other_profile_count,
        before=_measures(report.before),
        held_out=_measures(report.held_out),
        gain=report.gain.mean,
        gain_low=report.gain.low,
        gain_high=report.gain.high,
        p_value=report.gain.p_value,
        fold_fusions=_fusions(report.fold_settings),
    )


def fusion_to_pb(setting: FusionOverrides) -> retrieval_service_pb2.FusionOverrides:
    """Return the message; every field crosses, and what is None stays unset."""
    return retrieval_service_pb2.FusionOverrides(
        lexical_weight=setting.lexical_weight,
        dense_weight=setting.dense_weight,
        rank_constant=setting.rank_constant,
        pool_count=setting.pool_count,
        expanded_weight=setting.expanded_weight,
        margin_weight=setting.margin_weight,
        proximity_weight=setting.proximity_weight,
        path_weight=setting.path_weight,
        definition_weight=setting.definition_weight,
    )


def _fusions(settings: Iterable[FusionOverrides]) -> list[retrieval_service_pb2.FusionOverrides]:
    return [fusion_to_pb(one) for one in settings]


def _measures(measures: Measures) -> evaluation_service_pb2.RankingMeasures:
    return evaluation_service_pb2.RankingMeasures(
        mean_reciprocal_rank=measures.reciprocal_rank,
        recall_at_1=measures.recall_at_1,
        recall_at_5=measures.recall_at_5,
    )


def _labelled(
    question: evaluation_service_pb2.LabelledQuestion, prefix: str, settings: ServerSettings
) -> LabelledQuestion:
    text = checked_query(question.question, settings, f"{prefix}question")
    if not question.sources:
        raise InvalidRequest(FieldError(f"{prefix}sources", "must not be empty: where does the answer stand?"))
    if len(question.sources) > _MAX_SOURCES:
        count = len(question.sources)
        description = f"{count:,}, the limit is {_MAX_SOURCES:,}"
        raise beyond_limit(f"{prefix}sources", description, limit=_MAX_SOURCES, actual=count)
    for i, span in enumerate(question.sources):
        field = f"{prefix}sources[{i}]."
        if span.start_char < 0:
            raise InvalidRequest(FieldError(f"{field}start_char", f"{span.start_char} is below 0"))
        if span.end_char <= span.start_char:
            problem = f"{span.end_char} is not above start_char, {span.start_char}"
            raise InvalidRequest(FieldError(f"{field}end_char", problem))
    return LabelledQuestion(text, tuple(GoldSpan(s.path, s.start_char, s.end_char) for s in question.sources))


def _recall(ranks: Sequence[int | None], k: int) -> evaluation_service_pb2.RecallAtCutoff:
    found_count = sum(rank is not None and rank <= k for rank in ranks)
    low, high = wilson_interval(found_count, len(ranks))
    return evaluation_service_pb2.RecallAtCutoff(
        k=k, found_count=found_count, recall=found_count / len(ranks), low=low, high=high
    )
