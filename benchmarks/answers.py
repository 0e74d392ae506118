"""Answers: how soon the first token comes, that citations stand, and how soon a lost worker is replaced."""

import time
from collections.abc import Iterator

import grpc

from benchmarks.figure import Figure, median_figure
from benchmarks.stage import CannotMeasureError, Stage
from groundwire.v1 import answer_pb2, answer_service_pb2, answer_service_pb2_grpc, retrieval_service_pb2
from tests.support.processes import Worker

QUESTION_COUNT = 7
MIN_PROMPT_TOKEN_COUNT = 1200
TAKEOVER_REPEAT_COUNT = 3
LEASE_S = 10.0
CALL_TIMEOUT_S = 120.0


def measure(stage: Stage) -> list[Figure]:
    """One warm worker for the first tokens, then two for the takeover."""
    first = stage.worker("worker0")
    first.start()
    try:
        figures = _first_tokens(stage)
    finally:
        first.stop()
    return [*figures, _takeover(stage)]


def _stream(channel: grpc.Channel, question: str) -> Iterator[answer_service_pb2.AnswerEvent]:
    options = answer_service_pb2.AnswerOptions(
        fallback=answer_pb2.ANSWER_FALLBACK_NONE,
        answer_anyway=True,
        max_completion_tokens=256,
        generate_anew=True,
        # Whole passages: prompts that are cut to the lines that answer would flatter the figure.
        packing=answer_pb2.PackingOptions(focus_chars=0),
    )
    retrieve = retrieval_service_pb2.RetrieveRequest(query=question, k=5)
    stub = answer_service_pb2_grpc.AnswerServiceStub(channel)
    request = answer_service_pb2.StreamAnswerRequest(retrieve=retrieve, options=options)
    for response in stub.StreamAnswer(request, timeout=CALL_TIMEOUT_S):
        yield response.event


def _first_tokens(stage: Stage) -> list[Figure]:
    samples_s, prompt_token_counts = [], []
    citation_count = wrong_count = 0
    with stage.server.channel() as channel:
        for index, question in enumerate(stage.questions[: QUESTION_COUNT + 1]):
            started_s, first_s, delta_count = time.perf_counter(), 0.0, 0
            for event in _stream(channel, question):
                # The first delta may be the beginning that the answer is given, which no model wrote.
                delta_count += event.WhichOneof("event") == "delta"
                if delta_count > 1 and not first_s:
                    first_s = time.perf_counter() - started_s
                if event.WhichOneof("event") == "terminal":
                    result = event.terminal
            citation_count += len(result.citations)
            wrong_count += sum(not _stands(stage, citation) for citation in result.citations)
            # The first question warms the worker up; shorter prompts would flatter the figure.
            if index and first_s and result.generator.prompt_tokens >= MIN_PROMPT_TOKEN_COUNT:
                samples_s.append(first_s)
                prompt_token_counts.append(result.generator.prompt_tokens)
    if not samples_s:
        raise CannotMeasureError(f"no prompt had {MIN_PROMPT_TOKEN_COUNT} tokens")
    note = f"prompts of {min(prompt_token_counts)} to {max(prompt_token_counts)} tokens"
    return [
        median_figure("first token, warm worker, k = 5", "s", samples_s, 6.0, note),
        Figure("citations not found in their file", "", wrong_count, 0, note=f"of {citation_count}"),
    ]


def _stands(stage: Stage, citation: answer_pb2.Citation) -> bool:
    text = (stage.home / citation.path).read_bytes().decode()
    first_line = text.count("\n", 0, citation.start_char) + 1
    return text[citation.start_char : citation.end_char] == citation.text and first_line == citation.start_line


def _takeover(stage: Stage) -> Figure:
    """From kill -9 in mid-answer until the caller is told that another worker begins."""
    samples_s = []
    for number in range(TAKEOVER_REPEAT_COUNT):
        workers = [stage.worker(f"pair{number}-{index}") for index in range(2)]
        for worker in workers:
            worker.start()
        try:
            samples_s += _kill_in_mid_answer(stage, workers, stage.questions[number])
        finally:
            for worker in workers:
                if worker.is_alive():
                    worker.stop()
    if not samples_s:
        raise CannotMeasureError("no answer was taken over: all ended before their worker was killed")
    return median_figure("takeover of a killed worker's answer", "s", samples_s, LEASE_S + 2.0, f"lease {LEASE_S:g} s")


def _kill_in_mid_answer(stage: Stage, workers: list[Worker], question: str) -> list[float]:
    killed_s = 0.0
    with stage.server.channel() as channel:
        for event in _stream(channel, question):
            if event.WhichOneof("event") == "delta" and not killed_s:
                next(worker for worker in workers if worker.events("job claimed")).kill()
                killed_s = time.perf_counter()
            if event.WhichOneof("event") == "restarted":
                return [time.perf_counter() - killed_s]
    return []
