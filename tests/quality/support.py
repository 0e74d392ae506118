"""Question sets for the quality tests, and a check of answers that shares no code with the server's."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_CODE = re.compile(r"`([^`\n]+)`")
_TOKEN = re.compile(r"[A-Za-z0-9_]+")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)*(?![\w])")
_MARKER = re.compile(r"\[\d+(?:, ?\d+)*\]")


def write_dataset(path: Path, questions: Iterable[dict[str, Any]]) -> Path:
    """Write a dataset file."""
    path.write_text(json.dumps({"rag_questions": list(questions)}), encoding="utf-8")
    return path


def unheld_claims(answer: str, sources: Iterable[str]) -> set[str]:
    """The identifiers and numbers of an answer that stand in none of the texts.

    An identifier is a word with an underscore, a digit among letters or a capital inside, or any word in backticks.
    Spelling counts, case does not.
    """
    text = _MARKER.sub(" ", answer)
    claimed = {word for code in _CODE.findall(text) for word in _TOKEN.findall(code)}
    claimed |= {
        word
        for word in _TOKEN.findall(text)
        if "_" in word.strip("_") or re.search(r"[a-z][A-Z]", word) or re.search(r"[A-Za-z]\d|\d[A-Za-z]", word)
    }
    claimed |= set(_NUMBER.findall(re.sub(r"(?m)^\s*\d{1,3}[.)]\s", " ", text)))
    held = " ".join(sources).casefold()
    words = set(_TOKEN.findall(held))
    return {claim for claim in claimed if claim.casefold() not in words and claim.casefold() not in held}


def invalid_citations(details: dict[str, Any], passages: list[dict[str, Any]], root: Path) -> list[str]:
    """The citations that lie in no retrieved passage, or beyond their file."""
    wrong = []
    for citation in details["citations"]:
        path, first, last = (citation[key] for key in ("file_path", "first_character_index", "last_character_index"))
        inside = any(
            passage["file_path"] == path
            and passage["first_character_index"] <= first
            and last <= passage["last_character_index"]
            for passage in passages
        )
        text = (root / path).read_text(encoding="utf-8-sig", errors="strict")
        if not inside or not 0 <= first < last <= len(text) or not text[first:last].strip():
            wrong.append(f"{path}:{first}-{last}")
    return wrong
