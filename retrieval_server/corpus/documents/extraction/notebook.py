"""The text of a Jupyter notebook: what people wrote in its cells, without what running them printed."""

import json
from collections.abc import Iterator
from typing import Any

from retrieval_server.corpus.documents.decode import storable
from retrieval_server.engine.chunkers.markdown import fenced
from retrieval_server.engine.chunkers.notebook import cell_marker

_DEFAULT_LANGUAGE = "python"
_CELL_KINDS = frozenset({"markdown", "code", "raw"})


def notebook_text(source: str) -> tuple[str, str] | None:
    """Return (text, title or "") of a notebook, None when it is none: broken JSON, or JSON of another kind."""
    try:
        notebook = json.loads(source)
    except (ValueError, RecursionError):
        return None
    if not isinstance(notebook, dict):
        return None
    metadata = _dict(notebook.get("metadata"))
    language = _text(_dict(metadata.get("language_info")).get("name")) or _DEFAULT_LANGUAGE
    blocks = [
        "\n".join((cell_marker(number, kind), body))
        for number, (kind, body) in enumerate(_cells(notebook, language), start=1)
        if body
    ]
    return (storable("\n\n".join(blocks)) + "\n", storable(_text(metadata.get("title")))) if blocks else None


def _cells(notebook: dict[str, Any], language: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) of each cell. Until format 4, cells were in worksheets and headings cells of their own."""
    sheets = [notebook, *_list(notebook.get("worksheets"))]
    for cell in (_dict(cell) for sheet in sheets for cell in _list(_dict(sheet).get("cells"))):
        kind = _text(cell.get("cell_type"))
        body = _text(cell.get("source") or cell.get("input")).strip("\r\n")
        if not body.strip():
            yield kind, ""
        elif kind == "heading":
            level = cell.get("level")
            yield "markdown", f"{'#' * level if isinstance(level, int) and 0 < level < 7 else '#'} {body}"
        elif kind == "code":
            yield kind, fenced(body, language)
        else:
            yield kind if kind in _CELL_KINDS else "raw", body


def _text(value: Any) -> str:
    """Return a text that is stored whole or as its lines."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
