"""Factors by the kind of source, applied to fused scores: what is rarely the answer stands a little lower."""

from retrieval_server.engine.places.source_kinds import SourceKind, source_kinds
from retrieval_server.engine.words.analyser import analyse_terms
from retrieval_server.model import Prior

_PRIORS = {
    SourceKind.TEST: Prior("test_source", 0.6),
    SourceKind.VENDORED: Prior("vendored", 0.6),
    SourceKind.GENERATED: Prior("generated", 0.6),
    SourceKind.CHANGELOG: Prior("changelog", 0.8),
    SourceKind.TRANSLATION: Prior("translation", 0.6),
}
_ASKED_BY = {
    SourceKind.TEST: frozenset(analyse_terms("test tests testing tested")),
    SourceKind.CHANGELOG: frozenset(
        analyse_terms("changelog changed news history release version since introduced deprecated upgrade migrate")
    ),
    SourceKind.TRANSLATION: frozenset(
        analyse_terms("locale locales language languages translate translated translation translations i18n l10n")
    ),
}


def source_priors(path: str, query_terms: frozenset[str]) -> tuple[Prior, ...]:
    """Return the factors that apply to a document at `path`.

    Tests are not lowered for a query about tests, nor what releases changed for one about versions, nor translations
    for one about languages.
    """
    kinds = source_kinds(path)
    return tuple(_PRIORS[kind] for kind in kinds if query_terms.isdisjoint(_ASKED_BY.get(kind, ()))) if kinds else ()
