"""AnswerService of the fake server, and answers to give."""

import grpc

from groundwire.v1 import (
    answer_pb2,
    answer_service_pb2,
    answer_service_pb2_grpc,
    error_pb2,
    retrieval_service_pb2,
)
from tests.client.fake_state import FakeState, abort, item_error, passage


def answered_result(text="It starts with make up.", **changes) -> answer_pb2.AnswerResult:
    result = answer_pb2.AnswerResult(
        request_id="job-1",
        state=answer_pb2.ANSWER_STATE_ANSWERED,
        text=text,
        citations=[
            answer_pb2.Citation(path="docs/page1.md", start_char=10, end_char=20, start_line=3, end_line=4, text="x")
        ],
        sentences=[answer_pb2.SentenceSupport(start_char=0, end_char=len(text), supported=True, citation_indexes=[0])],
        generator=answer_pb2.GeneratorInfo(
            model="tiny", mode=answer_pb2.ANSWER_MODE_STUFF, prompt_tokens=1200, completion_tokens=9
        ),
        status=error_pb2.ItemStatus(),
        passages=[passage("q", 1)],
        index_generation=7,
        attempt_count=1,
    )
    result.MergeFrom(answer_pb2.AnswerResult(**changes))
    return result


def answer_events(*deltas: str, result: answer_pb2.AnswerResult | None = None) -> list[answer_service_pb2.AnswerEvent]:
    """Retrieved, the deltas (a number begins that attempt anew), terminal."""
    events = [
        answer_service_pb2.AnswerEvent(
            retrieved=answer_service_pb2.AnswerRetrieved(
                request_id="job-1", passages=[passage("q", 1)], index_generation=7
            )
        )
    ]
    for delta in deltas:
        if isinstance(delta, int):
            restarted = answer_service_pb2.AnswerRestarted(attempt=delta, reason=error_pb2.ERROR_REASON_NO_WORKER)
            events.append(answer_service_pb2.AnswerEvent(restarted=restarted))
        else:
            events.append(answer_service_pb2.AnswerEvent(delta=answer_service_pb2.AnswerDelta(text=delta)))
    events.append(answer_service_pb2.AnswerEvent(terminal=result or answered_result()))
    for number, event in enumerate(events, 1):
        event.sequence = number
    return events


class Answers(answer_service_pb2_grpc.AnswerServiceServicer):
    def __init__(self, state: FakeState) -> None:
        self.state = state

    def Answer(self, request, context):
        self.state.check_up(context)
        self.state.request_ids.append(request.request_id)
        return answer_service_pb2.AnswerResponse(result=answered_result())

    def StreamAnswer(self, request, context):
        self.state.check_up(context)
        context.add_callback(self.state.answer_stream_ended.set)
        self.state.streamed.append(request)
        self.state.request_ids.append(request.request_id)
        for number, event in enumerate(self.state.events, 1):
            if self.state.break_answer_after is not None and number > self.state.break_answer_after:
                abort(context, grpc.StatusCode.UNAVAILABLE, "gone")
            if event.delta.text == "<hold>":
                self.state.hold.wait(120)
            yield answer_service_pb2.StreamAnswerResponse(event=event)

    def AttachAnswer(self, request, context):
        self.state.check_up(context)
        if request.request_id != "job-1":
            abort(context, grpc.StatusCode.NOT_FOUND, f"there is no job {request.request_id}", reason="JOB_NOT_FOUND")
        self.state.attached_after.append(request.after_sequence)
        for event in self.state.events:
            if event.sequence > request.after_sequence:
                yield answer_service_pb2.AttachAnswerResponse(event=event)

    def CancelAnswer(self, request, context):
        if request.request_id == "ended":
            return answer_service_pb2.CancelAnswerResponse(cancelled=False)
        if request.request_id == "unknown":
            abort(context, grpc.StatusCode.NOT_FOUND, "there is no job unknown", reason="JOB_NOT_FOUND")
        self.state.cancelled.append(request.request_id)
        return answer_service_pb2.CancelAnswerResponse(cancelled=True)

    def BatchAnswer(self, request_iterator, context):
        self.state.check_up(context)
        for request in self.state.read_eagerly(request_iterator):
            query = request.answer.retrieve.query
            self.state.request_ids.append(request.answer.request_id)
            response = answer_service_pb2.BatchAnswerResponse(item_index=request.item_index)
            if query == "bad":
                bad = item_error(grpc.StatusCode.INVALID_ARGUMENT, error_pb2.ERROR_REASON_EMPTY_QUERY, "query: bad")
                response.status.CopyFrom(bad)
            elif query == "failing":
                response.result.CopyFrom(
                    answer_pb2.AnswerResult(
                        state=answer_pb2.ANSWER_STATE_FAILED,
                        status=item_error(
                            grpc.StatusCode.INTERNAL, error_pb2.ERROR_REASON_GENERATION_FAILED, "the model failed"
                        ),
                    )
                )
            elif query == "unknown":
                skipped = answer_pb2.AnswerResult(
                    state=answer_pb2.ANSWER_STATE_SKIPPED,
                    answer_skipped_reason=retrieval_service_pb2.ANSWER_SKIPPED_REASON_LOW_RELEVANCE,
                )
                response.result.CopyFrom(skipped)
            else:
                response.result.CopyFrom(answered_result(f"Answer to {query}"))
            yield response
