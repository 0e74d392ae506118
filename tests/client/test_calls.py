"""Unary calls, errors and the life of a client, against a server on loopback."""

import asyncio
import threading

import pytest

import client
from client import AsyncClient, Client, Timeouts
from tests.client.support import answer_events, wait_until


def test_retrieve_returns_passages_best_first_with_the_view_of_the_index(library):
    result = library.retrieve("how to start", k=3)
    assert [one.path for one in result.passages] == ["docs/page1.md", "docs/page2.md", "docs/page3.md"]
    assert (result.index_generation, result.vector_epoch, result.dense_coverage) == (7, 2, 1.0)
    assert result.profile_used is client.RetrievalProfile.PRECISE
    assert result.elapsed_s == 0.0015


async def test_the_asynchronous_client_does_the_same(server):
    async with AsyncClient(server.address) as library:
        first, second = await asyncio.gather(library.retrieve("one", k=1), library.retrieve("two", k=2))
    assert (len(first.passages), len(second.passages)) == (1, 2)


def test_every_call_carries_a_request_id_of_its_own(library, server):
    library.retrieve("one")
    library.retrieve("two")
    ids = [metadata["x-request-id"] for metadata in server.state.call_metadata]
    assert len(set(ids)) == 2


def test_an_invalid_request_names_its_fields_reason_and_call(library):
    with pytest.raises(client.InvalidRequest) as caught:
        library.retrieve("  ")
    error = caught.value
    assert (error.reason, error.status) == ("EMPTY_QUERY", "INVALID_ARGUMENT")
    assert error.field_violations == (client.FieldViolation("query", "must not be blank"),)
    assert len(error.request_id) == 32


def test_metadata_of_the_reason_arrives(library):
    with pytest.raises(client.InvalidRequest) as caught:
        library.retrieve("q", k=10**9)
    assert caught.value.metadata == {"limit": "1000", "actual": "1000000000"}


def test_not_found(library):
    with pytest.raises(client.NotFound) as caught:
        library.retrieve("q", collection="nowhere")
    assert caught.value.reason == "COLLECTION_NOT_FOUND"


def test_unavailable_is_retried(library, server):
    server.state.unavailable_count = 2
    assert library.retrieve("q", k=1).passages
    assert len(server.state.call_metadata) == 3


def test_retries_end_and_tell_the_reason_and_the_delay(library, server):
    server.state.unavailable_count = 100
    with pytest.raises(client.Unavailable) as caught:
        library.retrieve("q")
    assert (caught.value.reason, caught.value.retry_after_s) == ("SHUTTING_DOWN", 1.0)
    assert len(server.state.call_metadata) == 4


def test_no_server_is_unavailable_without_a_reason():
    with Client("127.0.0.1:1") as nobody, pytest.raises(client.Unavailable) as caught:
        nobody.retrieve("q")
    assert caught.value.reason == ""
    assert "127.0.0.1:1" in str(caught.value)


def test_a_deadline_that_passes_is_deadline_exceeded(server):
    with Client(server.address, timeouts=Timeouts(call_s=0.2)) as hasty, pytest.raises(client.DeadlineExceeded):
        hasty.retrieve("slow")


def test_a_rpc_that_the_server_lacks_is_not_served(library):
    from groundwire.v1 import evaluation_service_pb2, evaluation_service_pb2_grpc

    async def call():
        rpc = library._asynchronous._rpc
        stub = evaluation_service_pb2_grpc.EvaluationServiceStub(rpc.channel)
        return await rpc.unary(stub.EvaluateClassifier, evaluation_service_pb2.EvaluateClassifierRequest())

    with pytest.raises(client.NotServed):
        library._run(call())


def test_a_request_that_the_transport_cannot_carry_is_refused_by_name(library):
    with pytest.raises(client.InvalidRequest, match="request: is 9,000,0"):
        library.retrieve("x" * 9_000_000)


def test_an_http_proxy_in_the_environment_is_not_used(server, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("grpc_proxy", "http://127.0.0.1:1")
    with Client(server.address) as library:
        assert library.retrieve("q", k=1).passages


@pytest.mark.parametrize(
    "address", ["", "localhost", "localhost:", ":50051", "a:b", "h:0", "h:65536", "a b:1", "::1:50051"]
)
def test_an_address_that_is_no_host_and_port_is_refused(address):
    with pytest.raises(client.InvalidRequest, match="server: "):
        Client(address)


@pytest.mark.parametrize("seconds", [0, -1, 1e10, float("inf"), float("nan")])
def test_timeouts_are_above_zero_and_no_longer_than_gRPC_can_count(seconds):
    with pytest.raises(client.InvalidRequest, match="call_s: must be above 0 and at most 1,000,000,000 seconds"):
        Timeouts(call_s=seconds)


def test_the_longest_timeouts_do_not_pass_at_once(server):
    with Client(server.address, timeouts=Timeouts(call_s=1e9, answer_s=1e9, silence_s=1e9)) as patient:
        assert patient.retrieve("q").passages
        assert patient.answer("q").text
        assert next(patient.retrieve_many(["q"])).result


def test_an_answer_s_time_that_gRPC_cannot_count_reaches_the_server(library, server):
    """Which knows what is too long; the call must not be taken for one whose deadline has passed."""
    server.state.events = answer_events("one")
    assert library.answer("q", options=client.AnswerOptions(timeout_s=1e10)).text
    assert list(library.stream_answer("q", options=client.AnswerOptions(timeout_s=1e10)))


def test_a_closed_client_says_so(server):
    library = Client(server.address)
    library.retrieve("q")
    library.close()
    library.close()
    with pytest.raises(client.ClientError, match="closed"):
        library.retrieve("q")


def test_the_thread_ends_with_the_last_client(server):
    def threads() -> list[str]:
        return [one.name for one in threading.enumerate() if one.name == "groundwire-client"]

    first, second = Client(server.address), Client(server.address)
    assert len(threads()) == 1
    first.close()
    assert second.retrieve("q", k=1).passages
    second.close()
    assert threads() == []


def test_one_client_serves_many_threads(library):
    found: dict[int, int] = {}

    def work(k: int) -> None:
        found[k] = len(library.retrieve("q", k=k).passages)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert found == {k: k for k in range(1, 9)}


def test_an_asynchronous_client_belongs_to_one_loop(server):
    library = AsyncClient(server.address)

    async def retrieve() -> int:
        return len((await library.retrieve("q", k=1)).passages)

    async def retrieve_and_close() -> None:
        with pytest.raises(client.ClientError, match="another event loop"):
            await retrieve()

    assert asyncio.run(retrieve()) == 1
    asyncio.run(retrieve_and_close())


def test_corpus_calls(library, server):
    server.state.documents["a.md"] = "text\n"
    assert library.get_document("a.md").text == "text\n"
    assert [one.name for one in library.collections()] == ["alpha", "default"]
    assert library.corpus_stats().sources[0].source == "/src"
    with pytest.raises(client.NotFound):
        library.get_document("b.md")


def test_operations_calls(library):
    assert library.health() is client.Health.SERVING
    assert library.queue_stats().waiting_count == 1
    assert library.workers()[0].uptime_s == 90
    assert library.server_settings().settings == {"max_k": "1000"}


def test_interrupting_a_waiting_thread_ends_the_call(server):
    """What Ctrl-C does: the coroutine is cancelled, and closing does not hang."""
    library = Client(server.address)
    failures: list[BaseException] = []

    def wait() -> None:
        try:
            library.retrieve("slow")
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    wait_until(lambda: server.state.call_metadata)
    library.close()
    thread.join(60)
    assert not thread.is_alive()
    assert len(failures) == 1
