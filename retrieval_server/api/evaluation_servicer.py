"""EvaluationService: recall, and the weights of ranking."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import grpc

from groundwire.v1 import evaluation_service_pb2, evaluation_service_pb2_grpc
from retrieval_server.api.convert import profile_to_pb
from retrieval_server.api.convert_evaluation import (
    fusion_to_pb,
    progress_to_pb,
    question_set,
    retrieval_report,
    tuned_set,
    tuning_report,
)
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.evaluating import Evaluating, Progress
from retrieval_server.corpus.searching.searching import Searching
from retrieval_server.engine.ranking.profiles import NOT_TUNED
from retrieval_server.model import Profile
from retrieval_server.settings import ServerSettings

Context = grpc.aio.ServicerContext[Any, Any]


class EvaluationServicer(evaluation_service_pb2_grpc.EvaluationServiceServicer):
    """Measures and tunes. The RPCs of answers and of the classifier keep the stub's default: UNIMPLEMENTED."""

    def __init__(self, catalog: Catalog, searching: Searching, settings: ServerSettings) -> None:
        self._catalog = catalog
        self._evaluating = Evaluating(catalog, searching)
        self._settings = settings

    async def EvaluateRetrieval(
        self, request: evaluation_service_pb2.EvaluateRetrievalRequest, context: Context
    ) -> AsyncIterator[evaluation_service_pb2.EvaluateRetrievalResponse]:
        """Search every question and report recall."""
        query, questions = await asyncio.to_thread(question_set, request, self._settings)
        async with aclosing(self._evaluating.ranks(query, questions)) as steps:
            async for step in steps:
                if isinstance(step, Progress):
                    yield evaluation_service_pb2.EvaluateRetrievalResponse(progress=progress_to_pb(step))
                else:
                    report = retrieval_report(step, query.k)
                    yield evaluation_service_pb2.EvaluateRetrievalResponse(report=report)

    async def TuneFusion(
        self, request: evaluation_service_pb2.TuneFusionRequest, context: Context
    ) -> AsyncIterator[evaluation_service_pb2.TuneFusionResponse]:
        """Fit weights, report what they gain, and keep them if that was asked for and it is worth it."""
        query, questions = await asyncio.to_thread(tuned_set, request, self._settings)
        async with aclosing(self._evaluating.tune(query, questions, apply=request.apply)) as steps:
            async for step in steps:
                if isinstance(step, Progress):
                    yield evaluation_service_pb2.TuneFusionResponse(progress=progress_to_pb(step))
                else:
                    yield evaluation_service_pb2.TuneFusionResponse(report=tuning_report(step))

    async def GetTunedFusion(
        self, request: evaluation_service_pb2.GetTunedFusionRequest, context: Context
    ) -> evaluation_service_pb2.GetTunedFusionResponse:
        """Return what was tuned."""
        tuned = self._catalog.get(request.collection).collection.current_view.tuned_fusion
        return evaluation_service_pb2.GetTunedFusionResponse(
            tuned_fusions=[
                evaluation_service_pb2.TunedFusion(profile=profile_to_pb(profile), fusion=fusion_to_pb(setting))
                for profile, setting in tuned.items()
            ]
        )

    async def ResetTunedFusion(
        self, request: evaluation_service_pb2.ResetTunedFusionRequest, context: Context
    ) -> evaluation_service_pb2.ResetTunedFusionResponse:
        """Forget what was tuned."""
        opened = self._catalog.get(request.collection)
        await opened.write(Collection.put_tuned_fusion, dict.fromkeys(Profile, NOT_TUNED))
        return evaluation_service_pb2.ResetTunedFusionResponse()
