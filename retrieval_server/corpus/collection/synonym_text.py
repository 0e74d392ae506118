"""How a collection's synonym table is written down among its settings."""

import json

from retrieval_server.engine.lexical.synonyms import NO_SYNONYMS, SynonymGroup, SynonymTable


def synonyms_to_text(table: SynonymTable) -> str:
    """Return the setting's text."""
    return json.dumps([[group.terms, group.expansions] for group in table.groups], ensure_ascii=False)


def synonyms_from_text(text: str | None) -> SynonymTable:
    """Return the table that `synonyms_to_text` wrote; it was checked when it came in."""
    if text is None:
        return NO_SYNONYMS
    return SynonymTable(tuple(SynonymGroup(tuple(terms), tuple(expansions)) for terms, expansions in json.loads(text)))
