"""How a question was condensed, as a message: in the first event of its job, and in what the caller is told."""

from groundwire.v1 import answer_pb2, error_pb2
from retrieval_server.generation.questions.condensing import Condensing, CondensingMethod

METHOD_FROM_PB = {
    answer_pb2.CONDENSING_METHOD_RULE: CondensingMethod.RULE,
    answer_pb2.CONDENSING_METHOD_MODEL: CondensingMethod.MODEL,
}
_METHOD_TO_PB = {method: number for number, method in METHOD_FROM_PB.items()}


def condensing_to_pb(condensing: Condensing) -> answer_pb2.QuestionCondensing:
    """Return the message."""
    return answer_pb2.QuestionCondensing(
        method=_METHOD_TO_PB[condensing.method],
        fallback_reason=condensing.fallback_reason or error_pb2.ERROR_REASON_UNSPECIFIED,
        fallback_message=condensing.fallback_message,
        model=condensing.model,
    )


def condensing_from_pb(message: answer_pb2.QuestionCondensing) -> Condensing:
    """Return what a message says; one from before there were models says that it was a rule."""
    return Condensing(
        METHOD_FROM_PB.get(message.method, CondensingMethod.RULE),
        message.fallback_reason or None,
        message.fallback_message,
        message.model,
    )
