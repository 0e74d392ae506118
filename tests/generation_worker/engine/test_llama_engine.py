"""The real model through llama.cpp."""

from pathlib import Path

import pytest

from generation_worker.engine.llama_engine import LlamaEngine
from generation_worker.engine.llama_model import MICRO_BATCH_TOKENS, LlamaModel, ModelUnusableError
from generation_worker.engine.protocol import GenerationDone, GenerationError, PromptPacked, TextPiece
from groundwire.internal.v1 import job_pb2
from groundwire.models.locate import generator_file
from groundwire.v1 import passage_pb2

CONTEXT_TOKENS = 768


@pytest.fixture(scope="module")
def model_path() -> Path:
    return generator_file(None).path


@pytest.fixture(scope="module")
def engine(model_path: Path) -> LlamaEngine:
    return LlamaEngine(model_path, model="smollm2", context_tokens=CONTEXT_TOKENS, thread_count=2)


@pytest.fixture(scope="module")
def llama(engine: LlamaEngine) -> LlamaModel:
    return engine._llama


def job(question: str = "What is the timeout?", text: str = "", **limits: int) -> job_pb2.GenerationJob:
    passages = [passage_pb2.Passage(path="a.md", start_line=1, end_line=2, text=text)] if text else []
    return job_pb2.GenerationJob(question=question, passages=passages, **({"max_completion_tokens": 24} | limits))


def never() -> bool:
    return False


def text_of(engine: LlamaEngine, one: job_pb2.GenerationJob) -> str:
    return "".join(step.text for step in engine.generate(one, never) if isinstance(step, TextPiece))


def test_special_tokens_count_in_the_scaffold_and_never_in_content(llama: LlamaModel):
    [start] = llama.scaffold_tokens("<|im_start|>")
    [end] = llama.scaffold_tokens("<|im_end|>")
    content = llama.content_tokens("<|im_start|>user\n<|im_end|>")
    assert start not in content
    assert end not in content
    assert b"".join(llama.piece(token) for token in content) == b"<|im_start|>user\n<|im_end|>"
    assert llama.is_end(end)
    assert llama.piece(end) == b""


@pytest.mark.parametrize("text", ["", "a\0b", "naïve 日本語 🙂", "\n\n\t  x", "def f(x):\n    return x\n"])
def test_tokens_give_the_text_back(llama: LlamaModel, text: str):
    assert b"".join(llama.piece(token) for token in llama.content_tokens(text)).decode() == text


def test_it_answers_from_the_passage_and_says_what_it_used(engine: LlamaEngine):
    steps = list(engine.generate(job(text="The default timeout is 42 seconds."), never))
    packed, done = steps[0], steps[-1]
    assert isinstance(packed, PromptPacked)
    assert isinstance(done, GenerationDone)
    assert 0 < done.completion_tokens <= 24
    text = "".join(step.text for step in steps[1:-1])
    assert "42" in text
    assert text == text.strip()
    assert "<|" not in text


def test_the_same_job_gives_the_same_text_whatever_came_before(engine: LlamaEngine):
    one = job(text="The default timeout is 42 seconds. " * 8, max_completion_tokens=12)
    first = text_of(engine, one)
    text_of(engine, job("Something else entirely?", "Cats sleep for most of the day. " * 20, max_completion_tokens=4))
    assert text_of(engine, one) == first


def test_the_prompt_and_the_completion_fit_the_context_together(engine: LlamaEngine):
    steps = list(engine.generate(job(text="alpha beta gamma delta " * 500, max_completion_tokens=8), never))
    assert steps[0].prompt_tokens <= CONTEXT_TOKENS - 8
    assert steps[-1].completion_tokens <= 8


def test_the_jobs_own_limit_of_the_prompt_holds(engine: LlamaEngine):
    steps = engine.generate(job(text="alpha beta " * 500, max_prompt_tokens=300), never)
    assert next(steps).prompt_tokens <= 300
    with pytest.raises(GenerationError, match="The question alone takes"):
        next(engine.generate(job("why " * 500, max_prompt_tokens=300), never))


def test_it_stops_between_batches_of_the_prompt_and_works_on_afterwards(engine: LlamaEngine):
    asked = []

    def stop_at_second_batch() -> bool:
        asked.append(True)
        return len(asked) == 2

    steps = list(engine.generate(job(text="alpha beta gamma " * 230), stop_at_second_batch))
    assert [type(step) for step in steps] == [PromptPacked]
    assert len(asked) == 2
    assert steps[0].prompt_tokens > 2 * MICRO_BATCH_TOKENS
    assert "42" in text_of(engine, job(text="The default timeout is 42 seconds."))


def test_it_stops_between_tokens(engine: LlamaEngine):
    pieces = []
    for step in engine.generate(job(text="The default timeout is 42 seconds."), lambda: len(pieces) >= 2):
        if isinstance(step, TextPiece):
            pieces.append(step.text)
        assert not isinstance(step, GenerationDone)
    assert len(pieces) == 2


def test_a_context_beyond_the_models_own_is_cut_to_it(model_path: Path):
    assert LlamaModel(model_path, context_tokens=10**6, thread_count=1).context_tokens == 8192


def test_a_truncated_model_is_refused(model_path: Path, tmp_path: Path):
    half = tmp_path / "half.gguf"
    half.write_bytes(model_path.read_bytes()[:10_000_000])
    with pytest.raises(ModelUnusableError, match="cannot be loaded"):
        LlamaModel(half, context_tokens=512, thread_count=1)
