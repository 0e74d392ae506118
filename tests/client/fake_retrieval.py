"""RetrievalService of the fake server."""

import grpc

from groundwire.v1 import (
    error_pb2,
    retrieval_service_pb2,
    retrieval_service_pb2_grpc,
)
from tests.client.fake_state import FakeState, abort, item_error, passage


class Retrieval(retrieval_service_pb2_grpc.RetrievalServiceServicer):
    def __init__(self, state: FakeState) -> None:
        self.state = state

    def Retrieve(self, request, context):
        self.state.check_up(context)
        if request.query == "slow":
            self.state.hold.wait(120)
        if not request.query.strip():
            abort(
                context,
                grpc.StatusCode.INVALID_ARGUMENT,
                "query: must not be blank",
                reason="EMPTY_QUERY",
                violations=[("query", "must not be blank")],
            )
        if request.HasField("k") and request.k > 1000:
            abort(
                context,
                grpc.StatusCode.INVALID_ARGUMENT,
                "k: at most 1,000",
                reason="LIMIT_EXCEEDED",
                metadata={"limit": "1000", "actual": str(request.k)},
                violations=[("k", "at most 1,000")],
            )
        if request.collection == "nowhere":
            abort(
                context,
                grpc.StatusCode.NOT_FOUND,
                "there is no collection nowhere",
                reason="COLLECTION_NOT_FOUND",
                metadata={"collection": "nowhere"},
            )
        return self.result(request)

    def result(self, request):
        self.state.queries.append(request.query)
        self.state.last_retrieve = request
        count = request.k if request.HasField("k") else 10
        response = retrieval_service_pb2.RetrieveResponse(
            passages=[]
            if "nothing" in request.query
            else [passage(request.query, r) for r in range(1, min(count, 12) + 1)],
            index_generation=self.state.index_generation,
            vector_epoch=self.state.vector_epoch,
            dense_coverage=self.state.dense_coverage,
            answerability=0.9,
            profile_used=retrieval_service_pb2.RETRIEVAL_PROFILE_PRECISE,
        )
        response.elapsed.FromMicroseconds(1500)
        if request.hops == 2 and response.passages:
            response.second_hop.CopyFrom(retrieval_service_pb2.SecondHop(query="gull port", introduced_terms=["gull"]))
            for number, found in enumerate(response.passages):
                found.hop = 1 + number % 2
        return response

    def BatchRetrieve(self, request_iterator, context):
        self.state.check_up(context)
        assert next(request_iterator).HasField("config")
        break_after = self.state.break_batch_after.pop(0) if self.state.break_batch_after else None
        for answered, request in enumerate(self.state.read_eagerly(request_iterator)):
            if break_after is not None and answered >= break_after:
                abort(context, grpc.StatusCode.UNAVAILABLE, "gone")
            yield self.outcome(request.item)

    def outcome(self, item):
        query = item.retrieve.query
        if query == "slow":
            self.state.hold.wait(120)
        if self.state.busy_queries.get(query, 0) > 0:
            self.state.busy_queries[query] -= 1
            busy = item_error(grpc.StatusCode.RESOURCE_EXHAUSTED, error_pb2.ERROR_REASON_SERVER_BUSY, "too many calls")
            return retrieval_service_pb2.BatchRetrieveResponse(item_index=item.item_index, status=busy)
        if not query.strip() or query == "bad":
            status = item_error(grpc.StatusCode.INVALID_ARGUMENT, error_pb2.ERROR_REASON_EMPTY_QUERY, "query: bad")
            status.field_violations.add(field="query", description="bad")
            return retrieval_service_pb2.BatchRetrieveResponse(item_index=item.item_index, status=status)
        return retrieval_service_pb2.BatchRetrieveResponse(
            item_index=item.item_index, status=error_pb2.ItemStatus(), retrieve=self.result(item.retrieve)
        )
