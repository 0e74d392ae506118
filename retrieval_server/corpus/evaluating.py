"""Labelled questions against a collection: searched for their recall, or for what tuning needs to know of them."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace

from groundwire.v1 import error_pb2
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.view import CollectionView
from retrieval_server.corpus.searching.searching import Searching
from retrieval_server.corpus.to_its_end import to_its_end
from retrieval_server.engine.places.filters import allowed_chunks
from retrieval_server.engine.ranking.candidates import CandidateSearch
from retrieval_server.engine.ranking.profiles import NOT_TUNED, Ranking, ranking_of
from retrieval_server.engine.tuning.labels import KnownPaths, LabelledQuestion, first_hit_rank
from retrieval_server.engine.tuning.refusing import judged
from retrieval_server.engine.tuning.tuning import FOLD_COUNT, TunedQuestion, Tuner, TuningReport
from retrieval_server.errors import FieldError, InvalidRequest, Unavailable, fields_under
from retrieval_server.model import FusionOverrides, Profile, RetrieveQuery, RetrieveResult

MIN_TUNED_QUESTIONS = 20
# The error is one line: more would only be cut off.
_MAX_NAMED_PATHS = 3
_SEARCHED_AT_ONCE = 4
_RETRY_AFTER_S = 5.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How many steps of all are done."""

    done_count: int
    total_count: int


@dataclass(frozen=True, slots=True)
class Tuned:
    """What tuning one profile of a collection came to; `is_applied` when the collection keeps it."""

    profile: Profile
    report: TuningReport
    question_count: int
    other_profile_count: int
    is_applied: bool


class Evaluating:
    """Runs question sets; one that nobody listens to any more ends with the question it is at."""

    def __init__(self, catalog: Catalog, searching: Searching) -> None:
        self._catalog = catalog
        self._searching = searching

    async def ranks(
        self, query: RetrieveQuery, questions: Sequence[LabelledQuestion]
    ) -> AsyncGenerator[Progress | list[int | None], None]:
        """Yield progress, then the rank of the first passage that hits, None for none, for each question.

        Raises InvalidRequest for a source that is in no document, and what a search raises.
        """
        with self._catalog.get(query.collection).view() as view:
            await to_its_end(asyncio.to_thread(_check_paths, view, questions))
        ranks: list[int | None] = []
        for start in range(0, len(questions), _SEARCHED_AT_ONCE):
            some = questions[start : start + _SEARCHED_AT_ONCE]
            searches = (self._searching.retrieve(replace(query, query=question.text)) for question in some)
            with fields_under("retrieve."):
                results = await asyncio.gather(*searches)
            ranks += await asyncio.to_thread(_first_hits, results, some)
            yield Progress(len(ranks), len(questions))
        yield ranks

    async def tune(
        self, query: RetrieveQuery, questions: Sequence[LabelledQuestion], *, apply: bool
    ) -> AsyncGenerator[Progress | Tuned, None]:
        """Yield progress, then what was found. With `apply`, a gain that is more than noise is kept before that.

        Raises InvalidRequest for a source that is in no document, or when too few questions share a profile;
        Unavailable while vectors are incomplete; FailedPrecondition for `apply` on a replica.
        """
        opened = self._catalog.get(query.collection)
        if apply:
            await opened.write(Collection.is_behind)  # a replica says so now, and not after minutes
        encode = self._searching.encode
        with opened.view() as view:
            if encode is not None and view.dense_coverage < 1:
                raise Unavailable(
                    error_pb2.ERROR_REASON_VECTORS_INCOMPLETE,
                    f"{view.dense_coverage:.0%} of the vectors are computed, and tuning needs all: try again later",
                    retry_after_s=_RETRY_AFTER_S,
                )
            taking_part = await to_its_end(asyncio.to_thread(_taking_part, view, query, questions))
            with fields_under("retrieve."):
                allowed = await to_its_end(asyncio.to_thread(allowed_chunks, query.filter, view))
            total_count = len(taking_part) + FOLD_COUNT + 1
            tuned: list[TunedQuestion] = []
            for labelled, ranking in taking_part:
                search = CandidateSearch(view, encode, query.fusion.over(ranking.constants), [allowed])
                # The view is held until the thread is done with it.
                question = await to_its_end(asyncio.to_thread(judged, labelled, search))
                tuned.append(TunedQuestion(question, ranking.constants, query.fusion, query.max_per_file))
                yield Progress(len(tuned), total_count)
            profile = taking_part[0][1].profile
            in_force = view.tuned_fusion.get(profile, NOT_TUNED)
        tuner = Tuner(tuned, [one.text for one, _ in taking_part], in_force)
        settings: list[FusionOverrides] = []
        for fold in (*range(FOLD_COUNT), None):
            settings.append(await asyncio.to_thread(tuner.fit, fold))
            yield Progress(len(tuned) + len(settings), total_count)
        *fold_settings, setting = settings
        report = await asyncio.to_thread(tuner.report, setting, fold_settings)
        is_applied = apply and report.is_worth_keeping
        if is_applied:
            await opened.write(Collection.put_tuned_fusion, {profile: setting})
        yield Tuned(profile, report, len(tuned), len(questions) - len(tuned), is_applied)


def _first_hits(results: Sequence[RetrieveResult], questions: Sequence[LabelledQuestion]) -> list[int | None]:
    return [first_hit_rank(r.passages, q.gold) for r, q in zip(results, questions, strict=True)]


def _check_paths(view: CollectionView, questions: Sequence[LabelledQuestion]) -> None:
    known = KnownPaths(document.path for document in view.table.documents)
    unknown = [
        FieldError(f"questions[{i}].sources[{j}].path", f"the collection has no document {span.path!r}")
        for i, question in enumerate(questions)
        for j, span in enumerate(question.gold)
        if span.path not in known
    ]
    if unknown:
        raise InvalidRequest(*unknown[:_MAX_NAMED_PATHS])


def _taking_part(
    view: CollectionView, query: RetrieveQuery, questions: Sequence[LabelledQuestion]
) -> list[tuple[LabelledQuestion, Ranking]]:
    """Return the questions of the most common profile, each with the constants that the profile has for it."""
    _check_paths(view, questions)
    untuned = replace(query, fusion=NOT_TUNED)
    rankings = [ranking_of(replace(untuned, query=one.text), view.lexical.is_defined, {}) for one in questions]
    ((profile, count),) = Counter(ranking.profile for ranking in rankings).most_common(1)
    if count < MIN_TUNED_QUESTIONS:
        problem = (
            f"{count} of {len(rankings)} are for the profile {profile.name}, at least {MIN_TUNED_QUESTIONS} are needed:"
            " add questions, or name the profile"
        )
        raise InvalidRequest(FieldError("questions", problem))
    return [(one, ranking) for one, ranking in zip(questions, rankings, strict=True) if ranking.profile is profile]
