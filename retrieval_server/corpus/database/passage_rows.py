"""Rows of the chunks table as passages."""

import json

from retrieval_server.engine.places.chunk_table import DocumentFacts
from retrieval_server.model import Passage

PASSAGES_BY_ID = """
    SELECT chunk_id, start_char, end_char, start_line, end_line, text, breadcrumbs, is_derived,
        CASE WHEN is_derived THEN (SELECT substr(t.text, start_char + 1, end_char - start_char)
            FROM texts t WHERE t.document_row = chunks.document_row) END
    FROM chunks WHERE chunk_id IN ({})
"""


def passage_of_row(
    document: DocumentFacts,
    start_char: int,
    end_char: int,
    start_line: int,
    end_line: int,
    text: str,
    breadcrumbs: str,
    is_derived: int,
    origin_text: str | None,
) -> Passage:
    """Return the unscored passage that a row of PASSAGES_BY_ID, behind its id, is of a document."""
    return Passage(
        passage_id=f"{document.document_id}:{start_char}-{end_char}",
        document_id=document.document_id,
        path=document.path,
        start_char=start_char,
        end_char=end_char,
        start_line=start_line,
        end_line=end_line,
        text=text,
        breadcrumbs=tuple(json.loads(breadcrumbs)),
        language=document.language,
        kind=document.kind,
        is_derived=bool(is_derived),
        origin_text=origin_text or "",
    )
