"""Queries that people and programs really send: each is served or refused by name, and the server lives on."""

import threading
from collections.abc import Iterator

import grpc
import pytest

from groundwire.v1 import answer_service_pb2, answer_service_pb2_grpc, retrieval_service_pb2, retrieval_service_pb2_grpc
from tests.support.client import run_client
from tests.support.processes import PROJECT_DIR, Server
from tests.support.rpc import CALL_TIMEOUT_S, corpus_stats, refusal_of, refused, retrieve

INVALID = grpc.StatusCode.INVALID_ARGUMENT


@pytest.fixture(autouse=True)
def _server_lives_on(server: Server, channel: grpc.Channel, harbour: str) -> Iterator[None]:
    pid = server.pid
    yield
    assert server.is_alive()
    assert server.pid == pid
    assert retrieve(channel, "tide gate", collection=harbour, k=1).passages


@pytest.mark.parametrize("query", ["", " ", "\t\n ", "\u00a0\u2003", "\u200b"], ids=ascii)
def test_a_blank_query_is_refused_by_name(channel: grpc.Channel, harbour: str, query: str) -> None:
    refusal = refused(lambda: retrieve(channel, query, collection=harbour))
    assert (refusal.code, refusal.reason) == (INVALID, "EMPTY_QUERY")
    assert "query" in refusal.fields


def test_a_query_of_stop_words_searches_like_any_other(channel: grpc.Channel, harbour: str) -> None:
    assert retrieve(channel, "what is the of and to be", collection=harbour, k=3).passages


@pytest.mark.parametrize("k", [0, -1, 1001, 10**9])
def test_a_k_out_of_range_names_the_field(channel: grpc.Channel, harbour: str, k: int) -> None:
    refusal = refused(lambda: retrieve(channel, "gate", collection=harbour, k=k))
    assert refusal.code is INVALID
    assert "k" in refusal.fields
    assert "1000" in refusal.fields["k"].replace(",", "") or "1" in refusal.fields["k"]


@pytest.mark.parametrize("k", ["0", "-1", "1000000000"])
def test_the_client_says_which_k_is_wrong(server: Server, harbour: str, k: str) -> None:
    run_client(server.address, "search", "gate", f"--k={k}", "--collection", harbour, cwd=PROJECT_DIR).assert_refused(
        "k"
    )


def test_a_k_above_the_corpus_returns_all_of_it(channel: grpc.Channel, harbour: str) -> None:
    chunk_count = corpus_stats(channel, harbour).stats.chunk_count
    assert 0 < chunk_count < 1000
    found = retrieve(channel, "gate", collection=harbour, k=1000).passages
    assert len({passage.passage_id for passage in found}) == len(found)
    # Overlapping passages of one place may be given once.
    assert chunk_count * 0.8 <= len(found) <= chunk_count


def test_a_query_of_a_megabyte_is_refused_with_limit_and_size(channel: grpc.Channel, harbour: str) -> None:
    refusal = refused(lambda: retrieve(channel, "a" * 1_000_000, collection=harbour))
    assert (refusal.code, refusal.reason) == (INVALID, "LIMIT_EXCEEDED")
    assert refusal.metadata["actual"] == "1000000"
    assert int(refusal.metadata["limit"]) == 8192
    assert "query" in refusal.fields


def test_a_message_above_the_limit_is_refused(channel: grpc.Channel, harbour: str) -> None:
    """gRPC itself ends this one, so there are no details of ours."""
    wide = grpc.insecure_channel(
        channel._channel.target().decode(),  # type: ignore[attr-defined]
        options=(("grpc.max_send_message_length", -1), ("grpc.enable_http_proxy", 0)),
    )
    with wide, pytest.raises(grpc.RpcError) as caught:
        retrieve(wide, "a" * 9_000_000, collection=harbour)
    assert caught.value.code() in {grpc.StatusCode.RESOURCE_EXHAUSTED, INVALID}


@pytest.mark.parametrize(
    "query",
    [
        "AND",
        "OR NOT",
        'title:"x',
        "foo^",
        "foo^2.5 bar~3",
        "*",
        "C++",
        '+-&|!(){}[]^"~*?:\\/',
        "(" * 5000,
        "()" * 4000,
        '"' * 4001,
        "[a TO z]",
        "/re[gex/",
        "gate\x00lamps",
        "\x00",
        "\x1b[31mred\x07",
        "🌊" * 1000,
        "ﬁsh ΑΒΓ İstanbul ß",
        "水門はいつ閉まりますか",
        "\u202egate",
        "a" * 8192,
        "a " * 4096,
    ],
    ids=lambda query: ascii(query[:12]),
)
def test_no_text_is_syntax(channel: grpc.Channel, harbour: str, query: str) -> None:
    """Served, or refused as holding nothing to look for."""
    try:
        retrieve(channel, query, collection=harbour, k=3)
    except grpc.RpcError as error:
        refusal = refusal_of(error)
        assert (refusal.code, refusal.reason) == (INVALID, "EMPTY_QUERY"), refusal
        assert "query" in refusal.fields


def test_lone_surrogates_are_a_malformed_message(channel: grpc.Channel) -> None:
    body = b"\x12\x03\xed\xa0\x80"  # field 2, three bytes: U+D800 as no UTF-8 encoder writes it
    call = channel.unary_unary("/groundwire.v1.RetrievalService/Retrieve")
    refusal = refused(lambda: call(body, timeout=CALL_TIMEOUT_S))
    assert (refusal.code, refusal.reason) == (INVALID, "MALFORMED_MESSAGE")


def test_bytes_that_are_no_text_are_refused_by_the_client(server: Server, harbour: str) -> None:
    run_client(server.address, "search", "gate \udcff", "--collection", harbour, cwd=PROJECT_DIR).assert_refused(
        "utf-8"
    )


@pytest.mark.parametrize("name", ["nowhere", "UPPER", "a/../b", "x" * 65, "-lead", "näme"])
def test_an_unknown_or_impossible_collection_is_named(channel: grpc.Channel, name: str) -> None:
    refusal = refused(lambda: retrieve(channel, "gate", collection=name))
    if name == "nowhere":
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.NOT_FOUND, "COLLECTION_NOT_FOUND")
        assert refusal.metadata["collection"] == "nowhere"
    else:
        assert refusal.code in {INVALID, grpc.StatusCode.NOT_FOUND}
        assert "collection" in refusal.fields or refusal.metadata["collection"] == name


def test_one_bad_item_does_not_end_the_batch(channel: grpc.Channel, harbour: str) -> None:
    def requests() -> Iterator[retrieval_service_pb2.BatchRetrieveRequest]:
        config = retrieval_service_pb2.BatchRetrieveConfig(order=retrieval_service_pb2.BATCH_ORDER_AS_SENT)
        yield retrieval_service_pb2.BatchRetrieveRequest(config=config)
        for index, query in enumerate(["gate", "", "lamps", "x" * 9000, "storm"]):
            item = retrieval_service_pb2.BatchRetrieveItem(
                item_index=index, retrieve=retrieval_service_pb2.RetrieveRequest(query=query, collection=harbour, k=2)
            )
            yield retrieval_service_pb2.BatchRetrieveRequest(item=item)

    stub = retrieval_service_pb2_grpc.RetrievalServiceStub(channel)
    replies = list(stub.BatchRetrieve(requests(), timeout=CALL_TIMEOUT_S))
    assert [reply.item_index for reply in replies] == [0, 1, 2, 3, 4]
    assert [reply.status.code == 0 for reply in replies] == [True, False, True, False, True]
    assert all(reply.retrieve.passages for reply in replies if reply.status.code == 0)


def test_a_deadline_of_one_millisecond_expires_cleanly(channel: grpc.Channel, harbour: str) -> None:
    stub = retrieval_service_pb2_grpc.RetrievalServiceStub(channel)

    def request(number: int) -> retrieval_service_pb2.RetrieveRequest:
        # Each another one, or the server would remember its result.
        return retrieval_service_pb2.RetrieveRequest(query=f"gate {number} " * 700, collection=harbour, k=1000)

    codes = {stub.Retrieve.with_call(request(0), timeout=60)[1].code()}
    # A small corpus may well answer within a millisecond.
    for number, timeout_s in enumerate([0.001] * 10 + [0.0001] * 10, start=1):
        try:
            stub.Retrieve(request(number), timeout=timeout_s)
        except grpc.RpcError as error:
            codes.add(error.code())
    assert codes == {grpc.StatusCode.OK, grpc.StatusCode.DEADLINE_EXCEEDED}


def test_a_caller_that_leaves_in_mid_stream_harms_nobody(server: Server, harbour: str) -> None:
    request = answer_service_pb2.StreamAnswerRequest(
        retrieve=retrieval_service_pb2.RetrieveRequest(query="What do three red lamps mean?", collection=harbour)
    )
    for _ in range(3):
        with server.channel() as leaving:
            stream = answer_service_pb2_grpc.AnswerServiceStub(leaving).StreamAnswer(request, timeout=CALL_TIMEOUT_S)
            next(stream)
            stream.cancel()


def test_many_callers_at_once_are_served_or_told_when_to_come_back(server: Server, harbour: str) -> None:
    outcomes: list[object] = []

    def ask() -> None:
        with server.channel() as own:
            for _ in range(5):
                try:
                    outcomes.append(len(retrieve(own, "storm closure", collection=harbour, k=2).passages))
                except grpc.RpcError as error:
                    outcomes.append(refusal_of(error))

    threads = [threading.Thread(target=ask) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 200
    refusals = [outcome for outcome in outcomes if outcome != 2]
    assert all(getattr(refusal, "reason", "") == "SERVER_BUSY" for refusal in refusals), refusals[:3]
    assert all(getattr(refusal, "retry_after_s", None) for refusal in refusals)
