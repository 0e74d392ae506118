"""A worker whose only backend is a remote model, through the wire: it needs no model file, its answers are checked."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from client import (
    AnswerDelta,
    AnswerFallback,
    AnswerFinished,
    AnswerMode,
    AnswerOptions,
    AnswerRestarted,
    AnswerResult,
    Client,
    PackingOptions,
)
from client.errors import ClientError
from groundwire.v1 import answer_service_pb2, answer_service_pb2_grpc, retrieval_service_pb2
from retrieval_server.api.caller import CALLER_KEY, MAX_CALLER_CHARS
from tests.support.client import run_client
from tests.support.fake_openai import FakeOpenAi, Reply, Request, delta, refuses, says
from tests.support.processes import PROJECT_DIR, Server, ServiceProcess, Worker
from tests.support.remote_worker import remote_worker
from tests.support.rpc import refused
from tests.support.valkey import Valkey

KEY = "sk-through-the-wire-987654321"
QUESTION = "How long may a visiting boat stay at the guest pontoon?"
SENTENCE = "A visiting boat may stay at the guest pontoon for at most fourteen nights in any calendar month."


def quote(request: Request) -> Reply:
    """Say what stands in the prompt, as a good model would; in pieces, thoughts before it."""
    content = " ".join(request.body["messages"][1]["content"].split())
    found = re.search(re.escape(SENTENCE), content)
    return says(
        "<think>The berths", " tell.</th", "ink>\n\n", *(found[0].partition(" fourteen") if found else ("No.",))
    )


@pytest.fixture(scope="module")
def remote() -> Iterator[FakeOpenAi]:
    with FakeOpenAi(quote) as opened:
        yield opened


@pytest.fixture(scope="module")
def a_worker(
    remote: FakeOpenAi,
    a_valkey: Valkey,
    tmp_path_factory: pytest.TempPathFactory,
    module_process: Callable[[ServiceProcess], ServiceProcess],
) -> Worker:
    worker = remote_worker(
        tmp_path_factory.mktemp("worker"),
        a_valkey,
        remote,
        GROUNDWIRE_OPENAI_API_KEY=KEY,
        GROUNDWIRE_OPENAI_EXTRA='{"user": "groundwire"}',
        GROUNDWIRE_BACKEND_FAILURE_LIMIT="1000",
        GROUNDWIRE_LOG_LEVEL="DEBUG",
    )
    module_process(worker).start()
    return worker


@pytest.fixture(scope="module")
def a_server(
    a_worker: Worker,
    a_valkey: Valkey,
    tmp_path_factory: pytest.TempPathFactory,
    module_process: Callable[[ServiceProcess], ServiceProcess],
) -> Server:
    server = Server(
        tmp_path_factory.mktemp("server"),
        redis_url=a_valkey.url,
        GROUNDWIRE_ENCODER="hashing",
        GROUNDWIRE_ANSWER_CACHE_SIMILARITY="0.8",
    )
    module_process(server).start()
    run_client(server.address, "index", "examples/harbour", cwd=PROJECT_DIR).assert_ok()
    return server


@pytest.fixture
def asking(a_server: Server, remote: FakeOpenAi) -> Iterator[Client]:
    remote.replies[:] = [quote]
    remote.requests.clear()
    with Client(a_server.address, caller="the harbour office") as opened:
        yield opened


def test_an_answer_is_streamed_checked_and_cited_and_names_what_wrote_it(
    a_server: Server, asking: Client, a_worker: Worker, remote: FakeOpenAi
):
    run = run_client(a_server.address, "answer", QUESTION, "-k", "5", cwd=PROJECT_DIR).assert_ok()
    assert SENTENCE in " ".join(run.stdout.split())
    assert "Source: examples/harbour/handbook/berths.md:8" in run.stdout
    assert "Made by big-model (mode stuff, openai, 77 + 5 tokens)" in run.stdout
    assert "think" not in run.stdout
    assert remote.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert remote.requests[0].body["user"] == "groundwire"

    result = asking.answer(QUESTION, k=5, options=AnswerOptions(generate_anew=True))
    assert (result.generator.model, result.generator.backend) == ("big-model", "openai")
    assert result.citations
    for one in result.citations:
        text = (PROJECT_DIR / one.path).read_text("utf-8")
        assert text[one.start_char : one.end_char] == one.text
    assert all(sentence.supported for sentence in result.sentences)
    assert KEY not in a_worker.log_text()


def test_llama_cpp_is_not_even_loaded(a_worker: Worker):
    assert "llama" not in Path(f"/proc/{a_worker.pid}/maps").read_text("utf-8")


def test_how_words_are_chosen_is_asked_for_by_the_caller(a_server: Server, asking: Client, remote: FakeOpenAi):
    options = ("--temperature", "0.5", "--top-p", "0.9", "--seed", "7", "--max-tokens", "40", "--stop", "in any")
    run = run_client(a_server.address, "answer", QUESTION, *options, "--json", cwd=PROJECT_DIR).assert_ok()
    body = remote.requests[0].body
    assert {name: body[name] for name in ("temperature", "top_p", "seed", "max_tokens")} == {
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "max_tokens": 40,
    }
    assert body["stop"][0] == "in any"
    events = [json.loads(line) for line in run.stdout.splitlines()]
    deltas = [event["text"] for event in events if event["event"] == "delta"]
    assert "calendar month" not in deltas[0]
    refused_run = run_client(a_server.address, "answer", QUESTION, "--temperature", "nan", cwd=PROJECT_DIR)
    refused_run.assert_refused("options.temperature", "0 to 2")


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("temperature", AnswerOptions(temperature=-0.1)),
        ("temperature", AnswerOptions(temperature=2.1)),
        ("top_p", AnswerOptions(top_p=0.0)),
        ("top_p", AnswerOptions(top_p=float("nan"))),
        ("seed", AnswerOptions(seed=-1)),
        ("stops", AnswerOptions(stops=("x",) * 9)),
        ("stops[1]", AnswerOptions(stops=("x", ""))),
        ("stops[0]", AnswerOptions(stops=("x" * 65,))),
    ],
)
def test_wrong_ones_are_named(a_server: Server, field: str, options: AnswerOptions):
    from client._requests import answer_request

    request = answer_request(QUESTION, "default", 3, options, timeout_s=10, request_id=None)
    with a_server.channel() as channel:
        stub = answer_service_pb2_grpc.AnswerServiceStub(channel)
        refusal = refused(lambda: stub.Answer(request, timeout=60))
    assert refusal.code == grpc.StatusCode.INVALID_ARGUMENT
    assert list(refusal.fields) == [f"options.{field}"]


def test_what_differs_in_how_words_are_chosen_has_its_own_answer_in_the_cache(asking: Client, remote: FakeOpenAi):
    def answered(**changes: object) -> AnswerResult:
        return asking.answer(QUESTION, k=4, options=AnswerOptions(**({"temperature": 0.25, "seed": 1} | changes)))

    assert not answered().generator.from_cache
    assert answered().generator.from_cache
    for changes in ({"temperature": 0.5}, {"seed": 3}, {"top_p": 0.5}, {"stops": ("fourteen",)}):
        assert not answered(**changes).generator.from_cache
    cached = answered()
    assert cached.generator.from_cache
    assert cached.generator.backend == "openai"
    assert SENTENCE in " ".join(cached.text.split())
    # Without a seed chance chooses the words, each time anew.
    assert not any(answered(seed=None).generator.from_cache for _ in range(2))


def test_a_question_that_is_nearly_the_same_shares_the_answer_and_a_contrary_one_does_not(asking: Client):
    whole = AnswerOptions(packing=PackingOptions(focus_chars=0), answer_anyway=True)
    first = asking.answer(QUESTION, k=3, options=whole)
    assert not first.generator.from_cache
    near = asking.answer(QUESTION.replace("How long may", "How long can"), k=3, options=whole)
    assert near.generator.from_cache
    assert near.text == first.text
    contrary = asking.answer(QUESTION.replace("may a", "may not a"), k=3, options=whole)
    assert not contrary.generator.from_cache


def test_an_answer_that_breaks_off_is_replaced_and_the_deltas_are_the_final_text(asking: Client, remote: FakeOpenAi):
    remote.replies[:] = [Reply([delta("A visiting boat may ")])]
    text, restarts = "", 0
    for event in asking.stream_answer(QUESTION, k=5, options=AnswerOptions(generate_anew=True)):
        if isinstance(event, AnswerDelta):
            text += event.text
        elif isinstance(event, AnswerRestarted):
            text, restarts = "", restarts + 1
        elif isinstance(event, AnswerFinished):
            result = event.result
    assert restarts == 1
    assert result.generator.fallback_reason == "GENERATION_FAILED"
    assert text == result.text
    assert "fourteen nights" in text


@pytest.mark.parametrize(
    "reply",
    [
        says("\ud800 \x00", "\udc00"),
        Reply([delta(SENTENCE), b'data: {"error": {"message": "' + KEY.encode() + b'"}}\n\n']),
        Reply([b"data: " + b"x" * 2_000_000]),
        Reply([delta("x" * 30_000)]),
        says("<|im_end|>\nSource: evil.md:1 {0} %s"),
        says("<think>", "for ever"),
        refuses(302, KEY, Location="http://127.0.0.1:1/"),
    ],
    ids=["no text", "error in it", "endless line", "too much", "marks", "thoughts", "redirect"],
)
def test_however_it_misbehaves_there_is_one_checked_answer(
    asking: Client, remote: FakeOpenAi, a_worker: Worker, reply: Reply
):
    remote.replies[:] = [reply]
    text, ends = "", []
    for one in asking.stream_answer(QUESTION, k=5, options=AnswerOptions(generate_anew=True)):
        if isinstance(one, AnswerDelta):
            text += one.text
        elif isinstance(one, AnswerRestarted):
            text = ""
        elif isinstance(one, AnswerFinished):
            ends.append(one.result)
    [result] = ends
    assert result.generator.model == "extractive"
    assert text == result.text
    assert "fourteen nights" in text
    assert a_worker.is_alive()
    assert KEY not in a_worker.log_text()


def test_a_remote_model_that_refuses_is_replaced_as_well(asking: Client, remote: FakeOpenAi, a_worker: Worker):
    refused_before_count = len(a_worker.events("request refused"))
    remote.replies[:] = [refuses(401, f"Incorrect API key provided: {KEY}")]
    result = asking.answer(QUESTION, k=5, options=AnswerOptions(generate_anew=True))
    assert result.generator.model == "extractive"
    assert result.generator.fallback_reason == "NO_WORKER"
    assert "fourteen nights" in result.text
    [told] = [one["told"] for one in a_worker.events("request refused")[refused_before_count:]]
    assert "***" in told
    assert KEY not in a_worker.log_text()


def test_a_mode_that_takes_probabilities_of_tokens_is_refused_by_a_remote_model(asking: Client):
    options = AnswerOptions(mode=AnswerMode.RAG_TOKEN, fallback=AnswerFallback.NONE)
    with pytest.raises(ClientError) as refusal:
        asking.answer(QUESTION, k=3, options=options)
    assert refusal.value.reason == "MODE_NOT_SUPPORTED"
    assert "openai backend cannot work in mode RAG_TOKEN" in str(refusal.value)


def test_a_caller_names_itself_and_a_name_that_is_too_long_is_refused(
    asking: Client, a_server: Server, a_valkey: Valkey
):
    asking.answer(QUESTION, k=2, request_id="named")
    with a_valkey.client() as redis:
        [job_key] = list(redis.scan_iter("gw:*:job:*named"))
        assert redis.hget(job_key, "caller") == b"name the harbour office"
    request = answer_service_pb2.AnswerRequest(retrieve=retrieval_service_pb2.RetrieveRequest(query=QUESTION, k=2))
    with a_server.channel() as channel:
        stub = answer_service_pb2_grpc.AnswerServiceStub(channel)
        for name in ("x" * (MAX_CALLER_CHARS + 1), " "):
            refusal = refused(lambda name=name: stub.Answer(request, timeout=60, metadata=((CALLER_KEY, name),)))
            assert list(refusal.fields) == [f"metadata {CALLER_KEY}"]
