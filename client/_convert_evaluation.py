"""The boundary for evaluation: protobuf to this library's dataclasses, field by field, and questions the other way."""

from collections.abc import Iterable

from client import _evaluation_types as evaluation
from client._convert import enum_of
from client._message_fields import building
from client._passage_types import FusionOverrides, RetrievalProfile
from groundwire.v1 import evaluation_service_pb2, retrieval_service_pb2


def labelled_questions(
    questions: Iterable[evaluation.LabelledQuestion],
) -> list[evaluation_service_pb2.LabelledQuestion]:
    """Return the messages."""
    made = []
    for index, one in enumerate(questions):
        with building(f"questions[{index}]"):
            sources = [
                evaluation_service_pb2.LabelledSpan(path=s.path, start_char=s.start_char, end_char=s.end_char)
                for s in one.sources
            ]
            made.append(
                evaluation_service_pb2.LabelledQuestion(
                    question_id=one.question_id, question=one.question, sources=sources
                )
            )
    return made


def progress(pb: evaluation_service_pb2.EvaluationProgress) -> evaluation.EvaluationProgress:
    """Return our progress."""
    return evaluation.EvaluationProgress(pb.done_count, pb.total_count)


def retrieval_report(pb: evaluation_service_pb2.RetrievalReport) -> evaluation.RetrievalReport:
    """Return our report."""
    return evaluation.RetrievalReport(
        recalls=tuple(
            evaluation.RecallAtCutoff(one.k, one.found_count, one.recall, one.low, one.high) for one in pb.recalls
        ),
        mean_reciprocal_rank=pb.mean_reciprocal_rank,
        first_hit_ranks=tuple(pb.first_hit_ranks),
    )


def tuning_report(pb: evaluation_service_pb2.TuningReport) -> evaluation.TuningReport:
    """Return our report."""
    return evaluation.TuningReport(
        profile=_profile(pb.profile),
        fusion=fusion_overrides(pb.fusion),
        worth_keeping=pb.worth_keeping,
        applied=pb.applied,
        question_count=pb.question_count,
        other_profile_count=pb.other_profile_count,
        before=_measures(pb.before),
        held_out=_measures(pb.held_out),
        gain=pb.gain,
        gain_low=pb.gain_low,
        gain_high=pb.gain_high,
        p_value=pb.p_value,
        fold_fusions=tuple(fusion_overrides(one) for one in pb.fold_fusions),
    )


def tuned_fusion(pb: evaluation_service_pb2.TunedFusion) -> evaluation.TunedFusion:
    """Return what is set for one profile."""
    return evaluation.TunedFusion(_profile(pb.profile), fusion_overrides(pb.fusion))


def fusion_overrides(pb: retrieval_service_pb2.FusionOverrides) -> FusionOverrides:
    """Return our overrides; what is unset is None."""
    return FusionOverrides(
        lexical_weight=pb.lexical_weight if pb.HasField("lexical_weight") else None,
        dense_weight=pb.dense_weight if pb.HasField("dense_weight") else None,
        rank_constant=pb.rank_constant if pb.HasField("rank_constant") else None,
        pool_count=pb.pool_count if pb.HasField("pool_count") else None,
        expanded_weight=pb.expanded_weight if pb.HasField("expanded_weight") else None,
        margin_weight=pb.margin_weight if pb.HasField("margin_weight") else None,
        proximity_weight=pb.proximity_weight if pb.HasField("proximity_weight") else None,
        path_weight=pb.path_weight if pb.HasField("path_weight") else None,
        definition_weight=pb.definition_weight if pb.HasField("definition_weight") else None,
    )


def _profile(number: retrieval_service_pb2.RetrievalProfile.ValueType) -> RetrievalProfile:
    return enum_of(RetrievalProfile, retrieval_service_pb2.RetrievalProfile.Name, "RETRIEVAL_PROFILE_", number)


def _measures(pb: evaluation_service_pb2.RankingMeasures) -> evaluation.RankingMeasures:
    return evaluation.RankingMeasures(pb.mean_reciprocal_rank, pb.recall_at_1, pb.recall_at_5)
