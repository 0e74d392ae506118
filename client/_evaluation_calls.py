"""The methods of a client that measure and tune retrieval on labelled questions."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from client import _convert_evaluation, _requests
from client import _evaluation_types as evaluation
from client import _passage_types as passages
from client._channel import DEFAULT_COLLECTION
from client._filter_types import PassageFilter
from client._message_fields import building
from client._rpc import Rpc
from groundwire.v1 import evaluation_service_pb2, evaluation_service_pb2_grpc, retrieval_service_pb2


class EvaluationCalls:
    """What `AsyncClient` has of EvaluationService."""

    _rpc: Rpc

    @property
    def _evaluation(self) -> "evaluation_service_pb2_grpc.EvaluationServiceAsyncStub":
        return evaluation_service_pb2_grpc.EvaluationServiceStub(self._rpc.channel)

    async def evaluate_retrieval(
        self,
        questions: Iterable[evaluation.LabelledQuestion],
        *,
        k: int | None = None,
        collection: str = DEFAULT_COLLECTION,
        fusion: passages.FusionOverrides | None = None,
        profile: passages.RetrievalProfile | None = None,
        filter: PassageFilter | None = None,  # noqa: A002  the field's name in the contract
        rerank: bool | None = None,
    ) -> AsyncGenerator[evaluation.EvaluationProgress | evaluation.RetrievalReport, None]:
        """Search for every question; yield progress, at last a RetrievalReport."""
        request = evaluation_service_pb2.EvaluateRetrievalRequest(
            retrieve=_retrieve(collection, k, fusion, profile, filter, rerank),
            questions=_convert_evaluation.labelled_questions(questions),
        )
        async with aclosing(self._rpc.listen(self._evaluation.EvaluateRetrieval, request)) as responses:
            async for response in responses:
                if response.HasField("report"):
                    yield _convert_evaluation.retrieval_report(response.report)
                else:
                    yield _convert_evaluation.progress(response.progress)

    async def tune_fusion(
        self,
        questions: Iterable[evaluation.LabelledQuestion],
        *,
        collection: str = DEFAULT_COLLECTION,
        apply: bool = False,
        fusion: passages.FusionOverrides | None = None,
        profile: passages.RetrievalProfile | None = None,
        filter: PassageFilter | None = None,  # noqa: A002  the field's name in the contract
    ) -> AsyncGenerator[evaluation.EvaluationProgress | evaluation.TuningReport, None]:
        """Fit weights of ranking to at least 20 questions; yield progress, at last a TuningReport.

        What `fusion` sets is not tuned. With `apply`, the collection keeps the weights if their gain on questions that
        they were not fitted to is more than noise.
        """
        request = evaluation_service_pb2.TuneFusionRequest(
            retrieve=_retrieve(collection, None, fusion, profile, filter),
            questions=_convert_evaluation.labelled_questions(questions),
            apply=apply,
        )
        async with aclosing(self._rpc.listen(self._evaluation.TuneFusion, request)) as responses:
            async for response in responses:
                if response.HasField("report"):
                    yield _convert_evaluation.tuning_report(response.report)
                else:
                    yield _convert_evaluation.progress(response.progress)

    async def tuned_fusion(self, collection: str = DEFAULT_COLLECTION) -> tuple[evaluation.TunedFusion, ...]:
        """Return what tuning has set on a collection."""
        with building("collection"):
            request = evaluation_service_pb2.GetTunedFusionRequest(collection=collection)
        response = await self._rpc.unary(self._evaluation.GetTunedFusion, request)
        return tuple(_convert_evaluation.tuned_fusion(one) for one in response.tuned_fusions)

    async def reset_tuned_fusion(self, collection: str = DEFAULT_COLLECTION) -> None:
        """Put a collection back to the constants of the profiles."""
        with building("collection"):
            request = evaluation_service_pb2.ResetTunedFusionRequest(collection=collection)
        await self._rpc.unary(self._evaluation.ResetTunedFusion, request)


def _retrieve(
    collection: str,
    k: int | None,
    fusion: passages.FusionOverrides | None,
    profile: passages.RetrievalProfile | None,
    wanted: PassageFilter | None,
    rerank: bool | None = None,
) -> retrieval_service_pb2.RetrieveRequest:
    return _requests.retrieve_request(
        "",
        collection=collection,
        k=k,
        explain=False,
        max_per_file=None,
        fusion=fusion,
        profile=profile,
        filter=wanted,
        rerank=rerank,
    )
