"""One worker's engine, several answers at once: what that gains, that it changes nothing, how soon it can be heard."""

import asyncio
import statistics
import time
from collections.abc import Sequence

from benchmarks.cancelling import freed_after_cancel_s
from benchmarks.figure import Figure
from benchmarks.stage import CannotMeasureError, Stage
from generation_worker.engine.llama_engine import LlamaEngine
from generation_worker.engine.protocol import GenerationDone, TextPiece
from groundwire.cpu import usable_core_count
from groundwire.internal.v1 import job_pb2
from groundwire.models.locate import generator_file
from groundwire.v1 import passage_pb2

SLOT_COUNT = 16
CONTEXT_TOKENS = 3072
ANSWER_TOKENS = 32
ROUND_COUNT = 5
PROMPT_COUNT = 40
EXCERPT_CHARS = 300
MAX_CHARS_PER_TOKEN = 8
LONG_PROMPT_TOKENS = 2000
SHORT_PROMPT_TOKENS = 128
LONG_PROMPT_COUNT = 4
BURST_REPEAT_COUNT = 7


def measure(stage: Stage) -> list[Figure]:
    """All figures of one engine in this process, with nothing else going on."""
    texts = [text for path in sorted(stage.home.rglob("*.md")) if len(text := path.read_text("utf-8")) > EXCERPT_CHARS]
    engine = LlamaEngine(
        generator_file(None).path,
        model="benchmark",
        context_tokens=CONTEXT_TOKENS,
        slot_count=SLOT_COUNT,
        thread_count=usable_core_count(),
    )
    jobs = [
        _job(question, texts[number % len(texts)][:EXCERPT_CHARS])
        for number, question in enumerate(stage.questions[:PROMPT_COUNT])
    ]
    # More than fits, but no more than a server would send.
    long_text = "\n".join(texts)[: LONG_PROMPT_TOKENS * MAX_CHARS_PER_TOKEN]
    long_job = _job("What is it about?", long_text, max_prompt_tokens=LONG_PROMPT_TOKENS)
    together: list[str] = []
    token_counts: list[int] = []
    for begin in range(0, len(jobs), SLOT_COUNT):
        texts_of_some, counts_of_some = _run(engine, jobs[begin : begin + SLOT_COUNT])
        together += texts_of_some
        token_counts += counts_of_some
    alone = [_run(engine, [job])[0][0] for job in jobs]
    differing_count = sum(one != other for one, other in zip(together, alone, strict=True))
    full = [job for job, count in zip(jobs, token_counts, strict=True) if count == ANSWER_TOKENS][:SLOT_COUNT]
    if len(full) < SLOT_COUNT:
        raise CannotMeasureError(f"only {len(full)} of {len(jobs)} answers have {ANSWER_TOKENS} tokens")
    figures = [
        Figure("answers that differ, 16 at once / 1", "", differing_count, len(jobs) * 0.05, note=f"of {len(jobs)}"),
        *_throughput(engine, full),
        _first_token(engine, long_job),
    ]
    freed_s = asyncio.run(freed_after_cancel_s(stage, engine, long_job))
    note = "the median; from the call to the slot"
    return [
        *figures,
        Figure("cancelled in mid-prompt, slot free", "s", statistics.median(freed_s), 0.2, tuple(freed_s), note),
    ]


def _job(question: str, text: str, max_prompt_tokens: int = 0) -> job_pb2.GenerationJob:
    passage = passage_pb2.Passage(path="excerpt.md", start_line=1, end_line=9, text=text)
    return job_pb2.GenerationJob(
        question=question,
        passages=[passage],
        max_prompt_tokens=max_prompt_tokens,
        max_completion_tokens=ANSWER_TOKENS,
    )


def _run(engine: LlamaEngine, jobs: Sequence[job_pb2.GenerationJob]) -> tuple[list[str], list[int]]:
    """Run all jobs at once; the text and the count of tokens of each."""
    texts, token_counts = [""] * len(jobs), [0] * len(jobs)
    for key, job in enumerate(jobs):
        engine.start(key, job)
    while not engine.is_idle:
        for key, step in engine.step():
            if isinstance(step, TextPiece):
                texts[key] += step.text
            if isinstance(step, GenerationDone):
                token_counts[key] = step.completion_tokens
    return texts, token_counts


def _throughput(engine: LlamaEngine, jobs: Sequence[job_pb2.GenerationJob]) -> list[Figure]:
    """Tokens written in a second, 8 and 16 answers at once beside one at a time, in turns.

    Each prompt is still in its slot from the round before, so that almost nothing but writing is measured, and all
    answers are equally long, so that no slot is empty.
    """
    rates: dict[int, list[float]] = {1: [], 8: [], 16: []}
    _run(engine, jobs)
    for _ in range(ROUND_COUNT):
        for at_once, samples in rates.items():
            token_count, started_s = 0, time.perf_counter()
            for begin in range(0, len(jobs), at_once):
                token_count += sum(_run(engine, jobs[begin : begin + at_once])[1])
            samples.append(token_count / (time.perf_counter() - started_s))
    single = statistics.median(rates[1])
    figures = [Figure("tokens written, one answer at a time", "/s", single, samples=tuple(rates[1]))]
    for at_once, at_least in ((8, 1.7), (16, 2.0)):
        together = statistics.median(rates[at_once])
        note = f"{together:.0f}/s; wanted: at least {at_least:g} times as fast"
        # As a share, since all bounds are upper ones.
        figures.append(
            Figure(
                f"time of a token, {at_once} at once / 1",
                "",
                single / together,
                1 / at_least,
                tuple(rates[at_once]),
                note,
            )
        )
    return figures


def _first_token(engine: LlamaEngine, long_job: job_pb2.GenerationJob) -> Figure:
    """A short job's first token while four long prompts are read, as a share of what it may take."""
    shares = []
    for number in range(BURST_REPEAT_COUNT):
        # A name of its own at the prompt's beginning: nothing of it is in any slot.
        alone_s = _first_text_s(engine, _short_job(f"alone-{number}"))
        for key in range(1, 1 + LONG_PROMPT_COUNT):
            one = job_pb2.GenerationJob()
            one.CopyFrom(long_job)
            one.passages[0].path = f"{number}-{key}.md"
            engine.start(key, one)
        step_s = []
        for _ in range(5):
            started_s = time.perf_counter()
            engine.step()
            step_s.append(time.perf_counter() - started_s)
        # It comes at the beginning of a step, the worst moment.
        started_s = time.perf_counter()
        engine.step()
        within_s = time.perf_counter() - started_s + _first_text_s(engine, _short_job(f"beside-{number}"))
        shares.append(within_s / (2 * alone_s + statistics.median(step_s)))
        for key in range(1, 1 + LONG_PROMPT_COUNT):
            engine.stop(key)
    note = f"of twice its time alone and a step, beside {LONG_PROMPT_COUNT} prompts of {LONG_PROMPT_TOKENS:,} tokens"
    return Figure("first token of a short job", "", statistics.median(shares), 1.0, tuple(shares), note)


def _short_job(name: str) -> job_pb2.GenerationJob:
    job = _job("What is it about?", f"{name}. " + "The sea is wide. " * 40, max_prompt_tokens=SHORT_PROMPT_TOKENS)
    job.passages[0].path = name
    return job


def _first_text_s(engine: LlamaEngine, job: job_pb2.GenerationJob) -> float:
    started_s = time.perf_counter()
    engine.start(0, job)
    while not any(key == 0 and isinstance(step, TextPiece | GenerationDone) for key, step in engine.step()):
        pass
    engine.stop(0)
    return time.perf_counter() - started_s
