"""Answer modes between protobuf and the server's own noun, in requests, jobs and answers alike."""

from groundwire.v1 import answer_pb2
from retrieval_server.generation.answers.answer_model import AnswerMode

PROMPT_A_PASSAGE = frozenset((AnswerMode.RAG_SEQUENCE, AnswerMode.RAG_TOKEN))
"""Modes in which each passage has a prompt of its own."""

_TO_PB = {
    AnswerMode.STUFF: answer_pb2.ANSWER_MODE_STUFF,
    AnswerMode.EXTRACTIVE: answer_pb2.ANSWER_MODE_EXTRACTIVE,
    AnswerMode.RAG_SEQUENCE: answer_pb2.ANSWER_MODE_RAG_SEQUENCE,
    AnswerMode.RAG_TOKEN: answer_pb2.ANSWER_MODE_RAG_TOKEN,
}
MODE_FROM_PB = {answer_pb2.ANSWER_MODE_UNSPECIFIED: AnswerMode.STUFF} | {
    number: mode for mode, number in _TO_PB.items()
}


def mode_to_pb(mode: AnswerMode) -> answer_pb2.AnswerMode.ValueType:
    """Return the enum value."""
    return _TO_PB[mode]


def mode_from_pb(number: answer_pb2.AnswerMode.ValueType) -> AnswerMode:
    """Return the mode of a job or of what was written for it; STUFF for none, and for one of a later version."""
    return MODE_FROM_PB.get(number, AnswerMode.STUFF)
