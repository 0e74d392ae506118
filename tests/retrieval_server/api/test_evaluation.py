"""Measuring and tuning over the wire."""

import asyncio
import itertools
import threading
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from groundwire.v1 import evaluation_service_pb2, retrieval_service_pb2
from retrieval_server.corpus import evaluating
from retrieval_server.engine.ranking.candidates import CandidateSearch
from retrieval_server.engine.tuning.labels import LabelledQuestion
from retrieval_server.engine.tuning.refusing import JudgedQuestion
from tests.retrieval_server.api.support import Services, details, running_server
from tests.retrieval_server.api.sync_support import sync, until_embedded

Question = evaluation_service_pb2.LabelledQuestion
Span = evaluation_service_pb2.LabelledSpan
Retrieve = retrieval_service_pb2.RetrieveRequest
EXPLORE = retrieval_service_pb2.RETRIEVAL_PROFILE_EXPLORE
COMMON = "river stone cloud meadow harbor lantern bridge orchard valley tower garden forest".split()  # noqa: SIM905
COUNT = 30


def corpus() -> tuple[dict[str, bytes], list[Question]]:
    """Each question has one telling word, which its gold note alone has, and common ones, as its decoy has them.

    So the words lead to the note, and the vectors, of the sums of words, to the decoy.
    """
    generator = np.random.default_rng(7)
    files, questions = {}, []
    for number in range(COUNT):
        common = " ".join(generator.choice(COMMON, 6, replace=False))
        note = f"telling{number}x and {' '.join(f'filler{number}y{i}' for i in range(8))}"
        files[f"{number}/note.md"] = note.encode()
        files[f"{number}/decoy.md"] = f"{common} {common}".encode()
        span = Span(path=f"src/{number}/note.md", start_char=0, end_char=len(note))
        questions.append(Question(question_id=str(number), question=f"telling{number}x {common}", sources=[span]))
    return files, questions


FILES, QUESTIONS = corpus()
NAMES = [Question(question="a_b_c", sources=QUESTIONS[0].sources)]


async def filled(services: Services) -> None:
    await sync(services, FILES)
    await until_embedded(services)


async def tune(services: Services, questions: list[Any] = QUESTIONS, **fields: Any) -> list[Any]:
    fields.setdefault("retrieve", Retrieve(profile=EXPLORE))
    request = evaluation_service_pb2.TuneFusionRequest(questions=questions, **fields)
    return [response async for response in services.evaluation.TuneFusion(request)]


async def in_force(services: Services) -> list[Any]:
    request = evaluation_service_pb2.GetTunedFusionRequest()
    return list((await services.evaluation.GetTunedFusion(request)).tuned_fusions)


async def reciprocal_rank(services: Services) -> float:
    request = evaluation_service_pb2.EvaluateRetrievalRequest(retrieve=Retrieve(profile=EXPLORE), questions=QUESTIONS)
    responses = [response async for response in services.evaluation.EvaluateRetrieval(request)]
    assert [one.WhichOneof("message") for one in responses[:-1]] == ["progress"] * (len(responses) - 1)
    assert responses[-2].progress.done_count == responses[-2].progress.total_count == COUNT
    report = responses[-1].report
    assert [one.k for one in report.recalls] == [1, 3, 5, 10]
    first = report.recalls[0]
    assert first.found_count == sum(rank == 1 for rank in report.first_hit_ranks)
    assert first.low <= first.recall == first.found_count / COUNT <= first.high
    assert len(report.first_hit_ranks) == COUNT
    return report.mean_reciprocal_rank


async def test_a_gain_is_applied_outlives_the_server_and_is_taken_back(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await filled(services)
        before = await reciprocal_rank(services)
        *progress, last = await tune(services)
        assert [one.WhichOneof("message") for one in progress] == ["progress"] * len(progress)
        assert progress[-1].progress.done_count == progress[-1].progress.total_count
        report = last.report
        assert (report.question_count, report.other_profile_count, report.profile) == (COUNT, 0, EXPLORE)
        assert report.before.mean_reciprocal_rank == pytest.approx(before)
        assert 0 < report.gain_low < report.gain < report.gain_high
        assert (report.worth_keeping, report.applied) == (True, False)
        assert len(report.fold_fusions) == 5
        assert await in_force(services) == []
        assert await reciprocal_rank(services) == before

        applied = (await tune(services, apply=True))[-1].report
        assert applied.applied
        assert applied.fusion == report.fusion
        after = await reciprocal_rank(services)
        assert after > before
    async with running_server(tmp_path) as services:
        assert [(one.profile, one.fusion) for one in await in_force(services)] == [(EXPLORE, report.fusion)]
        assert await reciprocal_rank(services) == after
        again = (await tune(services, apply=True))[-1].report
        assert (again.worth_keeping, again.applied) == (False, False)
        await services.evaluation.ResetTunedFusion(evaluation_service_pb2.ResetTunedFusionRequest())
        assert await in_force(services) == []
        assert await reciprocal_rank(services) == before


async def test_labels_without_sense_are_not_kept(tmp_path: Path):
    """Every question is labelled with the note of another one."""
    questions = [
        Question(question=one.question, sources=QUESTIONS[(n * 7 + 3) % COUNT].sources)
        for n, one in enumerate(QUESTIONS)
    ]
    async with running_server(tmp_path) as services:
        await filled(services)
        report = (await tune(services, questions, apply=True))[-1].report
        assert (report.worth_keeping, report.applied) == (False, False)
        assert await in_force(services) == []


def changed(number: int, **fields: Any) -> list[Any]:
    """The set with one question changed."""
    question = Question()
    question.CopyFrom(QUESTIONS[number])
    for name, value in fields.items():
        question.ClearField(name)  # type: ignore[arg-type]
        question.MergeFrom(Question(**{name: value}))
    return [*QUESTIONS[:number], question, *QUESTIONS[number + 1 :]]


def fusion(**constants: Any) -> Any:
    return Retrieve(fusion=retrieval_service_pb2.FusionOverrides(**constants))


async def test_what_cannot_be_tuned_names_its_field_and_changes_nothing(tmp_path: Path):
    cases: list[tuple[list[Any], dict[str, Any], str]] = [
        ([], {}, "questions"),
        (QUESTIONS[:1], {}, "questions"),
        (QUESTIONS[:19], {}, "questions"),
        (QUESTIONS * 70, {}, "questions"),
        (changed(3, question=" \t"), {}, "questions[3].question"),
        (changed(3, question="x" * 9000), {}, "questions[3].question"),
        (changed(4, sources=[]), {}, "questions[4].sources"),
        (changed(4, sources=[Span(path="note.md", end_char=4)] * 1001), {}, "questions[4].sources"),
        (changed(5, sources=[Span(path="src/none.md", end_char=4)]), {}, "questions[5].sources[0].path"),
        (changed(5, sources=[Span(path="", end_char=4)]), {}, "questions[5].sources[0].path"),
        (changed(6, sources=[Span(path="note.md", start_char=4, end_char=4)]), {}, "questions[6].sources[0].end_char"),
        (changed(6, sources=[Span(path="note.md", start_char=-1)]), {}, "questions[6].sources[0].start_char"),
        (QUESTIONS, {"retrieve": Retrieve(hops=2)}, "retrieve.hops"),
        (QUESTIONS, {"retrieve": Retrieve(balance=True)}, "retrieve.balance"),
        (QUESTIONS, {"retrieve": Retrieve(rerank=True)}, "retrieve.rerank"),
        (QUESTIONS, {"retrieve": Retrieve(profile=99)}, "retrieve.profile"),
        (QUESTIONS, {"retrieve": Retrieve(collection="No Such")}, "retrieve.collection"),
        (QUESTIONS, {"retrieve": fusion(path_weight=-1)}, "retrieve.fusion.path_weight"),
        (QUESTIONS, {"retrieve": fusion(margin_weight=float("nan"))}, "retrieve.fusion.margin_weight"),
        # AUTO takes some for names, and then there are too few of either kind.
        (NAMES * 15 + QUESTIONS[:15], {"retrieve": None}, "questions"),
    ]  # fmt: skip
    async with running_server(tmp_path) as services:
        await filled(services)
        for questions, fields, field in cases:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await tune(services, questions, apply=True, **fields)
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT, (field, caught.value)
            violations = details(caught.value)["BadRequest"].field_violations
            assert [one.field for one in violations] == [field]
            assert len(caught.value.details() or "") < 300
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await tune(services, retrieve=Retrieve(collection="nowhere"))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        assert await in_force(services) == []


async def test_leaving_ends_it_and_lets_go_of_the_collection(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await filled(services)
        call = services.evaluation.TuneFusion(
            evaluation_service_pb2.TuneFusionRequest(retrieve=Retrieve(profile=EXPLORE), questions=QUESTIONS)
        )
        assert (await call.read()).progress.done_count == 1
        call.cancel()
        # It is not removed before nobody reads it.
        await services.catalog.delete("default")


async def test_who_leaves_takes_nothing_from_the_thread_that_still_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The database was closed under its hands, which ended the process."""
    is_in, goes_on, has_ended = threading.Event(), threading.Event(), threading.Event()

    def held_up(*_: object) -> JudgedQuestion:
        is_in.set()
        goes_on.wait(60)
        has_ended.set()
        raise ValueError

    monkeypatch.setattr(evaluating, "judged", held_up)
    request = evaluation_service_pb2.TuneFusionRequest(retrieve=Retrieve(profile=EXPLORE), questions=QUESTIONS)
    async with running_server(tmp_path) as services:
        await filled(services)
        call = services.evaluation.TuneFusion(request)
        reading = asyncio.ensure_future(call.read())
        assert await asyncio.to_thread(is_in.wait, 60)
        call.cancel()
        removal = asyncio.create_task(services.catalog.delete("default"))
        await asyncio.wait([removal], timeout=0.5)
        assert not removal.done()
        goes_on.set()
        await removal
        assert has_ended.is_set()
        await asyncio.gather(reading, return_exceptions=True)


async def test_what_computes_for_minutes_keeps_no_search_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Tunings have places of their own, few of them."""
    judged, goes_on, count = evaluating.judged, threading.Event(), itertools.count()

    def held_up(labelled: LabelledQuestion, search: CandidateSearch) -> JudgedQuestion:
        if next(count) == 1 and not goes_on.wait(60):
            raise TimeoutError
        return judged(labelled, search)

    monkeypatch.setattr(evaluating, "judged", held_up)
    request = evaluation_service_pb2.TuneFusionRequest(retrieve=Retrieve(profile=EXPLORE), questions=QUESTIONS)
    async with running_server(tmp_path, max_concurrent_rpcs=1, max_evaluations=1) as services:
        await filled(services)
        first = services.evaluation.TuneFusion(request)
        assert (await first.read()).progress.done_count == 1
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await tune(services)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert details(caught.value)["RetryInfo"].retry_delay.ToMilliseconds() == 5000
        await services.retrieval.Retrieve(Retrieve(query="river"))
        goes_on.set()
        first.cancel()
        await services.catalog.delete("default")  # which waits until nobody reads it
        await filled(services)
        assert (await tune(services))[-1].HasField("report")
