"""Batches and answers as streams: windows, lost connections, early ends."""

import logging
import signal
import threading

import pytest

import client
from client import AnswerDelta, AnswerFinished, AnswerRestarted, AnswerRetrieved, AsyncClient, Client, Timeouts, _batch
from client._batch import MAX_WINDOW_COUNT
from tests.client.support import answer_events, answered_result, wait_until


def test_a_batch_yields_one_outcome_for_each_query(library):
    outcomes = {one.item_index: one for one in library.retrieve_many(["a", "b", "c"], k=2)}
    assert sorted(outcomes) == [0, 1, 2]
    assert outcomes[1].result.passages[0].text.startswith("line one about b")


def test_an_empty_batch_yields_nothing(library):
    assert list(library.retrieve_many([])) == []


def test_bad_items_have_errors_and_end_nothing(library):
    outcomes = {one.item_index: one for one in library.retrieve_many(["a", "bad", "half \ud800", "b"], k=1)}
    assert [outcomes[i].error is None for i in range(4)] == [True, False, False, True]
    assert outcomes[1].error.field_violations[0].field == "query"
    assert isinstance(outcomes[2].error, client.InvalidRequest)


def test_an_item_too_large_for_the_transport_ends_only_itself(library):
    outcomes = {one.item_index: one for one in library.retrieve_many(["x" * 9_000_000, "b"], k=1)}
    assert isinstance(outcomes[0].error, client.InvalidRequest)
    assert outcomes[1].result is not None


def test_never_more_than_the_window_is_unanswered(library, server):
    server.state.gather_count = MAX_WINDOW_COUNT
    assert len(list(library.retrieve_many([f"q{i}" for i in range(150)], k=1))) == 150
    assert server.state.most_unanswered == MAX_WINDOW_COUNT


def test_a_batch_goes_on_after_lost_connections_without_asking_again_what_was_answered(library, server):
    server.state.break_batch_after = [5, 0, 3]
    queries = [f"q{i}" for i in range(50)]
    outcomes = list(library.retrieve_many(queries, k=1))
    assert sorted(one.item_index for one in outcomes) == list(range(50))
    assert sorted(server.state.queries) == sorted(queries)


def test_a_batch_gives_up_when_the_server_stays_away(library, server, monkeypatch):
    monkeypatch.setattr(_batch, "_MAX_RECONNECT_COUNT", 1)
    server.state.break_batch_after = [0] * 50
    with pytest.raises(client.Unavailable):
        list(library.retrieve_many(["a"]))


def test_a_batch_can_be_closed_early(library):
    with library.retrieve_many([f"q{i}" for i in range(100)], k=1) as outcomes:
        next(outcomes)
    assert library.retrieve("still there", k=1).passages


def test_a_silent_stream_is_deadline_exceeded(server):
    with Client(server.address, timeouts=Timeouts(silence_s=0.2)) as hasty, pytest.raises(client.DeadlineExceeded):
        list(hasty.retrieve_many(["slow"], k=1))


async def test_the_asynchronous_batch(server):
    async with AsyncClient(server.address) as library:
        found = [one.item_index async for one in library.retrieve_many(["a", "b"], k=1)]
    assert sorted(found) == [0, 1]


def test_an_answer_streams_its_events_in_order(library, server):
    server.state.events = answer_events("It starts ", "with make up.")
    events = list(library.stream_answer("how?"))
    assert [type(one) for one in events] == [AnswerRetrieved, AnswerDelta, AnswerDelta, AnswerFinished]
    assert [one.sequence for one in events] == [1, 2, 3, 4]
    assert "".join(one.text for one in events if isinstance(one, AnswerDelta)) == events[-1].result.text


def test_every_answer_has_a_request_id_so_that_a_repeated_call_finds_its_job(library, server):
    server.state.events = answer_events("x")
    server.state.unavailable_count = 1
    list(library.stream_answer("how?"))
    library.answer("how?")
    assert all(server.state.request_ids)
    assert len(set(server.state.request_ids)) == len(server.state.request_ids)


def test_a_chosen_request_id_is_kept(library, server):
    library.answer("how?", request_id="mine")
    assert server.state.request_ids == ["mine"]


def test_a_restart_is_an_event(library, server):
    server.state.events = answer_events("half a", 2, "whole")
    events = list(library.stream_answer("how?"))
    assert [one.attempt for one in events if isinstance(one, AnswerRestarted)] == [2]
    assert events[2].reason == "NO_WORKER"


def test_a_lost_connection_is_mended_by_attaching_after_the_last_event(library, server):
    server.state.events = answer_events("one ", "two ", "three")
    server.state.break_answer_after = 2
    events = list(library.stream_answer("how?"))
    assert [one.sequence for one in events] == [1, 2, 3, 4, 5]
    assert server.state.attached_after == [2]


def test_a_lost_connection_whose_job_is_gone_is_told_as_the_loss(library, server):
    server.state.events = answer_events("one")
    server.state.events[0].retrieved.request_id = "not kept"
    server.state.break_answer_after = 2
    with pytest.raises(client.Unavailable):
        list(library.stream_answer("how?"))


def test_a_stream_without_a_last_event_is_a_fault(library, server):
    server.state.events = answer_events("one")[:-1]
    with pytest.raises(client.ServerFault, match="without its last event"):
        list(library.stream_answer("how?"))


def test_how_an_answer_ended_is_data(library, server):
    from groundwire.v1 import answer_pb2, error_pb2

    failed = answer_pb2.AnswerResult(
        state=answer_pb2.ANSWER_STATE_EXPIRED,
        status=error_pb2.ItemStatus(code=4, reason=error_pb2.ERROR_REASON_DEADLINE_EXCEEDED, message="too late"),
    )
    server.state.events = answer_events(result=failed)
    result = list(library.stream_answer("how?"))[-1].result
    assert result.state is client.AnswerState.EXPIRED
    assert isinstance(result.error, client.DeadlineExceeded)
    assert result.error.reason == "DEADLINE_EXCEEDED"


def test_closing_a_stream_early_tells_the_server(library, server):
    server.state.events = answer_events("one", "<hold>", "two")
    with library.stream_answer("how?") as events:
        next(events)
    wait_until(server.state.answer_stream_ended.is_set)


def test_attach_and_cancel(library, server):
    server.state.events = answer_events("one", "two", result=answered_result("onetwo"))
    assert [one.sequence for one in library.attach_answer("job-1", after_sequence=2)] == [3, 4]
    assert library.cancel_answer("job-1") is True
    assert library.cancel_answer("ended") is False
    with pytest.raises(client.NotFound):
        library.cancel_answer("unknown")
    with pytest.raises(client.NotFound):
        list(library.attach_answer("other"))


def test_a_batch_of_answers(library):
    outcomes = {one.item_index: one for one in library.answer_many(["a", "bad", "unknown"])}
    assert outcomes[0].result.text == "Answer to a"
    assert isinstance(outcomes[1].error, client.InvalidRequest)
    assert outcomes[2].result.state is client.AnswerState.SKIPPED


@pytest.mark.parametrize(("worker_count", "expected"), [(1, 2), (3, 6), (20, 40), (0, MAX_WINDOW_COUNT)])
def test_no_more_answers_are_asked_for_at_a_time_than_the_workers_can_take(library, server, worker_count, expected):
    """An answer's time runs while it waits in the queue."""
    server.state.live_worker_count = worker_count
    server.state.gather_count = expected
    assert len(list(library.answer_many([f"q{i}" for i in range(70)]))) == 70
    assert server.state.most_unanswered == expected


def test_without_a_queue_a_batch_of_answers_still_runs(library, server):
    server.state.has_queue = False
    assert len(list(library.answer_many(["a", "b"]))) == 2


def test_one_text_in_place_of_several_questions_is_not_taken_for_its_characters(library):
    for ask in (library.retrieve_many, library.answer_many):
        with pytest.raises(client.InvalidRequest) as caught:
            next(ask("how?"))
        assert caught.value.field_violations[0].field == "queries"


def test_a_stream_can_be_closed_at_once_after_its_waiting_thread_was_interrupted(library, server):
    server.state.events = answer_events("one", "<hold>", "two")
    stream = library.stream_answer("how?")
    next(stream)
    next(stream)
    interruption = threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))

    def wait_interrupted():
        interruption.start()
        next(stream)

    with pytest.raises(KeyboardInterrupt):
        wait_interrupted()
    stream.close()
    interruption.join()


def test_streams_that_nobody_closed_end_in_silence_with_their_client(server, caplog):
    library = Client(server.address)
    left = [library.retrieve_many(["a", "b", "c"], k=1) for _ in range(3)]
    for stream in left:
        assert next(stream).error is None
    with caplog.at_level(logging.DEBUG):
        library.close()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
