"""The real model through llama.cpp, several answers at once."""

import threading
from pathlib import Path

import pytest

from generation_worker.engine.llama_engine import LlamaEngine
from generation_worker.engine.llama_model import ComputeError, LlamaModel
from generation_worker.engine.model_unusable import ModelUnusableError
from generation_worker.engine.protocol import GenerationDone, GenerationError, GenerationFailed, PromptPacked, TextPiece
from groundwire.internal.v1 import job_pb2
from groundwire.models.locate import generator_file
from groundwire.prompt import CHATML
from groundwire.v1 import passage_pb2
from tests.generation_worker.engine.running import joined, run

CONTEXT_TOKENS = 768
SLOTS = 4


@pytest.fixture(scope="module")
def model_path() -> Path:
    return generator_file(None).path


@pytest.fixture(scope="module")
def engine(model_path: Path) -> LlamaEngine:
    return LlamaEngine(model_path, model="smollm2", context_tokens=CONTEXT_TOKENS, slot_count=SLOTS, thread_count=2)


@pytest.fixture(scope="module")
def llama(engine: LlamaEngine) -> LlamaModel:
    return engine._llama


def job(question: str = "What is the timeout?", text: str = "", **limits: int) -> job_pb2.GenerationJob:
    passages = [passage_pb2.Passage(path="a.md", start_line=1, end_line=2, text=text)] if text else []
    return job_pb2.GenerationJob(question=question, passages=passages, **({"max_completion_tokens": 24} | limits))


def text_of(engine: LlamaEngine, one: job_pb2.GenerationJob) -> str:
    return joined(run(engine, one)[0])


def test_the_default_generators_own_template_is_the_one_that_render_prompt_shows(llama: LlamaModel):
    assert llama.chat_frames == CHATML


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
    [steps] = run(engine, job(text="The default timeout is 42 seconds."))
    packed, done = steps[0], steps[-1]
    assert isinstance(packed, PromptPacked)
    assert isinstance(done, GenerationDone)
    assert 0 < done.completion_tokens <= 24
    text = joined(steps)
    assert "42" in text
    assert text == text.strip()
    assert "<|" not in text


def test_answers_written_at_once_are_those_written_one_by_one(engine: LlamaEngine, model_path: Path):
    jobs = [
        job(
            f"What is the timeout of port {number}?",
            f"Port {number} waits {number * 7 + 3} seconds. " * (1 + 5 * number),
        )
        for number in range(SLOTS)
    ]
    # Whatever is in the slots from before.
    together = [joined(steps) for steps in run(engine, *jobs)]
    alone = LlamaEngine(model_path, model="smollm2", context_tokens=CONTEXT_TOKENS, slot_count=1, thread_count=2)
    assert together == [text_of(alone, one) for one in jobs]


def test_the_same_job_gives_the_same_text_whatever_came_before(engine: LlamaEngine):
    one = job(text="The default timeout is 42 seconds. " * 8, max_completion_tokens=12)
    first = text_of(engine, one)
    text_of(engine, job("Something else entirely?", "Cats sleep for most of the day. " * 20, max_completion_tokens=4))
    assert text_of(engine, one) == first


def test_a_prompt_that_another_slot_holds_is_not_computed_again(engine: LlamaEngine, llama: LlamaModel, monkeypatch):
    text = "The harbour closes when the wind passes forty knots. " * 25
    computed = []
    compute = llama.compute
    monkeypatch.setattr(llama, "compute", lambda rows: (computed.append(len(rows)), compute(rows)))
    engine.start(0, job("When does the harbour close?", text, max_completion_tokens=40))
    for _ in range(8):
        engine.step()
    computed.clear()
    engine.start(1, job("Why does the harbour close?", text, max_completion_tokens=1))
    engine.step()
    engine.stop(0)
    while not engine.is_idle:
        engine.step()
    assert sum(computed) < 80


def test_the_prompt_and_the_completion_fit_the_context_together(engine: LlamaEngine):
    jobs = [job(text=f"alpha beta gamma delta {number} " * 500, max_completion_tokens=8) for number in range(2)]
    for steps in run(engine, *jobs):
        assert steps[0].prompt_tokens <= CONTEXT_TOKENS - 8
        assert steps[-1].completion_tokens <= 8


def test_the_jobs_own_limit_of_the_prompt_holds(engine: LlamaEngine):
    fits = job(text="alpha beta " * 500, max_prompt_tokens=300, max_completion_tokens=1)
    good, bad = run(engine, fits, job("why " * 500, max_prompt_tokens=300))
    assert good[0].prompt_tokens <= 300
    [failed] = bad
    assert isinstance(failed, GenerationFailed)
    assert isinstance(failed.error, GenerationError)
    assert "The question alone takes" in str(failed.error)


def test_a_stop_within_the_prompt_frees_the_slot_and_harms_nobody(engine: LlamaEngine):
    one = job(text="The default timeout is 42 seconds.")
    expected = text_of(engine, one)
    for key in range(SLOTS - 1):
        engine.start(key, job(text=f"alpha beta gamma {key} " * 230))
    engine.start(SLOTS, one)
    engine.start(SLOTS + 1, one)  # waits for a slot
    texts: dict[int, str] = {SLOTS: "", SLOTS + 1: ""}
    stopped = list(range(SLOTS - 1))
    while not engine.is_idle:
        for key, step in engine.step():
            if isinstance(step, TextPiece):
                texts[key] += step.text
        if stopped:
            engine.stop(stopped.pop())
    assert texts == {SLOTS: expected, SLOTS + 1: expected}
    assert text_of(engine, one) == expected


def test_an_interrupted_step_ends_early_and_changes_no_answer(engine: LlamaEngine):
    one = job("What is the timeout?", "The default timeout is 42 seconds. " + "alpha beta gamma " * 60)
    expected = text_of(engine, one)
    engine.start(0, job(text="delta " * 500, max_completion_tokens=1))
    engine.start(1, one)
    texts: list[str] = []
    step_count = 0
    while not engine.is_idle:
        if step_count % 3 == 0:
            interrupting = threading.Timer(0.005 * (step_count % 5), engine.interrupt)
            interrupting.start()
        texts += [step.text for key, step in engine.step() if key == 1 and isinstance(step, TextPiece)]
        if step_count % 3 == 0:
            interrupting.join()
        step_count += 1
    assert "".join(texts) == expected


def test_an_interruption_before_a_step_makes_it_do_nothing_once(engine: LlamaEngine, llama: LlamaModel):
    engine.start(0, job(text="The sea is wide. " * 100, max_completion_tokens=1))
    assert [type(step) for _, step in engine.step()] == [PromptPacked]
    engine.interrupt()
    before = [len(slot.tokens) for slot in engine._slots]
    assert engine.step() == []
    assert [len(slot.tokens) for slot in engine._slots] == before
    engine.step()
    assert [len(slot.tokens) for slot in engine._slots] != before
    engine.stop(0)


def test_a_new_job_begins_while_another_is_in_mid_answer(engine: LlamaEngine):
    engine.start(0, job(text="Write on and on about the sea. " * 20, max_completion_tokens=200))
    while not any(isinstance(step, TextPiece) for _, step in engine.step()):
        pass
    engine.start(1, job(text="The default timeout is 42 seconds.", max_completion_tokens=4))
    ended = []
    while not ended:
        ended = [key for key, step in engine.step() if isinstance(step, GenerationDone)]
    engine.stop(0)
    assert ended == [1]
    assert engine.is_idle


def test_a_short_job_begins_soon_beside_long_prompts(engine: LlamaEngine, llama: LlamaModel):
    prompt_tokens = 128

    def steps_to_first_text(name: str) -> int:
        short = job(text=f"{name} is wide. " + "The sea is deep. " * 10, max_prompt_tokens=prompt_tokens)
        engine.start(SLOTS, short)
        count = 1
        while not any(key == SLOTS and isinstance(step, TextPiece) for key, step in engine.step()):
            count += 1
        engine.stop(SLOTS)
        return count

    alone = steps_to_first_text("Lake")
    for key in range(SLOTS - 1):
        engine.start(key, job(text=f"{key} alpha beta gamma delta " * 150))
    engine.step()
    beside = steps_to_first_text("Ocean")
    for key in range(SLOTS - 1):
        engine.stop(key)
    told = 1  # how the prompt was packed, before anything is computed
    assert alone == told + 1  # nobody else waits, so it is read at once
    assert beside <= told + prompt_tokens / llama.step_tokens + 1


def test_a_temperature_next_to_nothing_is_none(engine: LlamaEngine):
    def coldly(temperature: float) -> job_pb2.GenerationJob:
        return job(text="The default timeout is 42 seconds.", temperature=temperature)

    likeliest, almost, barely = (text_of(engine, coldly(temperature)) for temperature in (0.0, 1e-9, 1e-40))
    assert likeliest == almost == barely


def test_a_seed_decides_what_a_temperature_draws(engine: LlamaEngine):
    def drawn(seed: int) -> job_pb2.GenerationJob:
        return job("Tell a story.", "Once there was a boat.", temperature=1.5, top_p=0.95, seed=seed)

    first, same, other = (joined(steps) for steps in run(engine, drawn(1), drawn(1), drawn(2)))
    assert first == same
    assert first != other


def test_a_jobs_own_stop_string_ends_it_and_is_not_shown(engine: LlamaEngine):
    one = job(text="The default timeout is 42 seconds.")
    whole = text_of(engine, one)
    one.stops.extend(["", "42"])
    assert text_of(engine, one) == whole[: whole.index("42")].rstrip()


def test_when_llama_cpp_fails_the_jobs_in_hand_fail_and_the_next_is_done(engine: LlamaEngine, llama, monkeypatch):
    one = job(text="The default timeout is 42 seconds.")
    expected = text_of(engine, one)

    def broken(rows: object) -> None:
        monkeypatch.undo()
        raise ComputeError("llama_decode returned -3")

    monkeypatch.setattr(llama, "compute", broken)
    for steps in run(engine, one, one):
        assert [type(step) for step in steps] == [PromptPacked, GenerationFailed]
    assert text_of(engine, one) == expected


def test_a_stop_while_it_recovers_from_a_failure_harms_no_later_job(engine: LlamaEngine, llama, monkeypatch):
    one = job(text="The default timeout is 42 seconds.")
    expected = text_of(engine, one)

    def broken(rows: object) -> None:
        monkeypatch.undo()
        engine.interrupt()
        raise ComputeError("llama_decode returned -3")

    monkeypatch.setattr(llama, "compute", broken)
    (steps,) = run(engine, one)
    assert [type(step) for step in steps] == [PromptPacked, GenerationFailed]
    assert text_of(engine, one) == expected


def test_a_context_beyond_the_models_own_is_cut_to_it(model_path: Path):
    assert LlamaModel(model_path, context_tokens=10**6, sequence_count=1, thread_count=1).context_tokens == 8192


@pytest.mark.parametrize("kind", ["recurrent", "hybrid"])
def test_a_model_that_takes_nothing_back_is_refused_before_a_job_fails_by_it(model_path: Path, monkeypatch, kind: str):
    monkeypatch.setattr(f"llama_cpp.llama_model_is_{kind}", lambda _: True)
    with pytest.raises(ModelUnusableError, match="recurrent model cannot take back"):
        LlamaModel(model_path, context_tokens=512, sequence_count=1, thread_count=1)


def test_a_truncated_model_is_refused(model_path: Path, tmp_path: Path):
    half = tmp_path / "half.gguf"
    half.write_bytes(model_path.read_bytes()[:10_000_000])
    with pytest.raises(ModelUnusableError, match="cannot be loaded"):
        LlamaModel(half, context_tokens=512, sequence_count=1, thread_count=1)
