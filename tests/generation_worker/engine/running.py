"""Jobs through an engine, from the first step to the last."""

from collections.abc import Sequence

from generation_worker.engine.llama_engine import LlamaEngine
from generation_worker.engine.protocol import GenerationStep, TextPiece
from groundwire.internal.v1 import job_pb2


def run(engine: LlamaEngine, *jobs: job_pb2.GenerationJob) -> list[list[GenerationStep]]:
    """Run all jobs at once; the steps of each."""
    for key, one in enumerate(jobs):
        engine.start(key, one)
    steps: list[list[GenerationStep]] = [[] for _ in jobs]
    while not engine.is_idle:
        for key, step in engine.step():
            steps[key].append(step)
    return steps


def joined(steps: Sequence[GenerationStep]) -> str:
    """Return the text that the steps brought."""
    return "".join(step.text for step in steps if isinstance(step, TextPiece))
