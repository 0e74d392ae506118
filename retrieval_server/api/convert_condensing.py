"""By what a question is condensed, from protobuf."""

from groundwire.v1 import answer_pb2
from retrieval_server.errors import FieldError, InvalidRequest
from retrieval_server.generation.questions.condensing import CondensingMethod
from retrieval_server.generation.questions.condensing_message import METHOD_FROM_PB
from retrieval_server.settings import ServerSettings


def is_condensed_by_model(method: answer_pb2.CondensingMethod.ValueType, settings: ServerSettings, prefix: str) -> bool:
    """Return whether a model is asked for; raises InvalidRequest."""
    if method == answer_pb2.CONDENSING_METHOD_UNSPECIFIED:
        return CondensingMethod(settings.condensing_method) is CondensingMethod.MODEL
    if method not in METHOD_FROM_PB:
        raise InvalidRequest(FieldError(f"{prefix}condensing_method", f"{method} is not a value of CondensingMethod"))
    return METHOD_FROM_PB[method] is CondensingMethod.MODEL
