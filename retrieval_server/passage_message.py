"""Passages as messages: on the wire and in the queue they are the same."""

from groundwire.v1 import passage_pb2
from retrieval_server.model import ContentKind, ListScore, Passage, Prior

_KIND_TO_PB = {
    ContentKind.CODE: passage_pb2.CONTENT_KIND_CODE,
    ContentKind.DOCS: passage_pb2.CONTENT_KIND_DOCS,
    ContentKind.DATA: passage_pb2.CONTENT_KIND_DATA,
}
_KIND_FROM_PB = {value: key for key, value in _KIND_TO_PB.items()}


def kind_to_pb(kind: ContentKind) -> passage_pb2.ContentKind.ValueType:
    """Return the enum value."""
    return _KIND_TO_PB[kind]


def passage_to_pb(passage: Passage) -> passage_pb2.Passage:
    """Return the message; every field crosses."""
    return passage_pb2.Passage(
        passage_id=passage.passage_id,
        document_id=passage.document_id,
        path=passage.path,
        start_char=passage.start_char,
        end_char=passage.end_char,
        start_line=passage.start_line,
        end_line=passage.end_line,
        text=passage.text,
        span_kind=passage_pb2.SPAN_KIND_DERIVED if passage.is_derived else passage_pb2.SPAN_KIND_VERBATIM,
        breadcrumbs=passage.breadcrumbs,
        language=passage.language,
        kind=_KIND_TO_PB[passage.kind],
        score=passage.score,
        list_scores=[
            passage_pb2.ListScore(
                list=part.list_name,
                rank=part.rank,
                raw_score=part.raw_score,
                contribution=part.contribution,
                matched_terms=part.matched_terms,
            )
            for part in passage.list_scores
        ],
        priors=[passage_pb2.Prior(name=prior.name, factor=prior.factor) for prior in passage.priors],
        hop=passage.hop,
        origin_text=passage.origin_text,
    )


def passage_from_pb(message: passage_pb2.Passage) -> Passage:
    """Return the passage of a message that `passage_to_pb` made."""
    return Passage(
        passage_id=message.passage_id,
        document_id=message.document_id,
        path=message.path,
        start_char=message.start_char,
        end_char=message.end_char,
        start_line=message.start_line,
        end_line=message.end_line,
        text=message.text,
        breadcrumbs=tuple(message.breadcrumbs),
        language=message.language,
        kind=_KIND_FROM_PB[message.kind],
        score=message.score,
        list_scores=tuple(
            ListScore(part.list, part.rank, part.raw_score, part.contribution, tuple(part.matched_terms))
            for part in message.list_scores
        ),
        priors=tuple(Prior(prior.name, prior.factor) for prior in message.priors),
        is_derived=message.span_kind == passage_pb2.SPAN_KIND_DERIVED,
        hop=message.hop,
        origin_text=message.origin_text,
    )
