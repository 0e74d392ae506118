"""What the fake server holds, what it was asked, how it shall misbehave, and how it answers with errors."""

import contextlib
import threading
from dataclasses import dataclass, field

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from groundwire.v1 import (
    admin_service_pb2,
    answer_service_pb2,
    collection_pb2,
    error_pb2,
    passage_pb2,
    retrieval_service_pb2,
    sync_pb2,
)

MIB = 1024 * 1024


def abort(
    context, code, message, *, reason="", metadata=None, violations=(), retry_after_s=None, domain="groundwire"
) -> None:
    """End a call as the real server does: a status with details in the trailers."""
    status = status_pb2.Status(code=code.value[0], message=message)
    details = [error_details_pb2.ErrorInfo(reason=reason, domain=domain, metadata=metadata or {})] if reason else []
    if violations:
        fields = [
            error_details_pb2.BadRequest.FieldViolation(field=name, description=text) for name, text in violations
        ]
        details.append(error_details_pb2.BadRequest(field_violations=fields))
    if retry_after_s is not None:
        delay = duration_pb2.Duration()
        delay.FromNanoseconds(int(retry_after_s * 1e9))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    context.abort_with_status(rpc_status.to_status(status))


def passage(query: str, rank: int) -> passage_pb2.Passage:
    text = f"line one about {query}\nline two {rank}"
    return passage_pb2.Passage(
        passage_id=f"p{rank}",
        document_id="d1",
        path=f"docs/page{rank}.md",
        start_char=10,
        end_char=10 + len(text),
        start_line=3,
        end_line=4,
        text=text,
        span_kind=passage_pb2.SPAN_KIND_VERBATIM,
        breadcrumbs=["Guide", "Start"],
        language="markdown",
        kind=passage_pb2.CONTENT_KIND_DOCS,
        score=1 / rank,
        list_scores=[
            passage_pb2.ListScore(list="bm25", rank=rank, raw_score=7.5, contribution=0.2, matched_terms=["page"])
        ],
        priors=[passage_pb2.Prior(name="test_source", factor=0.8)],
    )


def item_error(code, reason, message) -> error_pb2.ItemStatus:
    return error_pb2.ItemStatus(code=code.value[0], reason=reason, message=message)


@dataclass
class FakeState:
    """What the server holds, what it was asked, and how it shall misbehave."""

    index_generation: int = 7
    vector_epoch: int = 2
    dense_coverage: float = 1.0
    encoder_problem: str = ""
    stored: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """sha256 by path, by source."""
    received: dict[str, bytes] = field(default_factory=dict)
    begins: list[sync_pb2.SyncBegin] = field(default_factory=list)
    contents_sizes: list[int] = field(default_factory=list)
    documents: dict[str, str] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    last_retrieve: retrieval_service_pb2.RetrieveRequest | None = None
    gather_count: int = 1
    """Requests that a stream must have sent before the first is answered."""
    most_unanswered: int = 0
    unavailable_count: int = 0
    """How many of the next calls fail as UNAVAILABLE."""
    break_batch_after: list[int] = field(default_factory=list)
    """Responses after which the next batch streams lose their connection."""
    busy_queries: dict[str, int] = field(default_factory=dict)
    """How often a query is answered with SERVER_BUSY."""
    events: list[answer_service_pb2.AnswerEvent] = field(default_factory=list)
    break_answer_after: int | None = None
    attached_after: list[int] = field(default_factory=list)
    request_ids: list[str] = field(default_factory=list)
    streamed: list[answer_service_pb2.StreamAnswerRequest] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    call_metadata: list[dict[str, str]] = field(default_factory=list)
    ask_for: list[str] = field(default_factory=list)
    """Paths that the server asks for though nobody offered them."""
    has_queue: bool = True
    live_worker_count: int = 1
    not_accepting_reason: str = ""
    dead_letters: list[str] = field(default_factory=list)
    first_collection: str = "alpha"
    """What the list of collections begins with; "nowhere" is one that is gone by then."""
    rebuild_steps: list[collection_pb2.RebuildCollectionResponse] = field(default_factory=list)
    purges: list[admin_service_pb2.PurgeDeadLettersRequest] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)
    answer_stream_ended: threading.Event = field(default_factory=threading.Event)

    def check_up(self, context) -> None:
        self.call_metadata.append(
            {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
        )
        if self.unavailable_count > 0:
            self.unavailable_count -= 1
            abort(
                context, grpc.StatusCode.UNAVAILABLE, "the server is stopping", reason="SHUTTING_DOWN", retry_after_s=1
            )

    def read_eagerly(self, request_iterator):
        """Yield requests while reading as many as the client will send, and note how many are unanswered at most."""
        arrived: list = []
        changed = threading.Condition()
        ended = threading.Event()

        def read() -> None:
            with contextlib.suppress(Exception):  # the client may end the call at any time
                for request in request_iterator:
                    with changed:
                        arrived.append(request)
                        changed.notify()
            ended.set()
            with changed:
                changed.notify()

        threading.Thread(target=read, daemon=True).start()
        answered_count = 0
        while True:
            with changed:
                wanted = max(answered_count + 1, self.gather_count if answered_count == 0 else 0)
                changed.wait_for(lambda wanted=wanted: len(arrived) >= wanted or ended.is_set(), 60)
                if answered_count == 0 and self.gather_count > 1:
                    # The time to send more than it should.
                    changed.wait_for(lambda: len(arrived) > self.gather_count, 0.3)
                self.most_unanswered = max(self.most_unanswered, len(arrived) - answered_count)
                if len(arrived) == answered_count:
                    return
                request = arrived[answered_count]
            answered_count += 1
            yield request
