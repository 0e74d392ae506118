"""RAG_SEQUENCE and RAG_TOKEN with the real model, against running the passages one by one in a context of their own."""

from collections.abc import Sequence

import numpy as np
import pytest

from generation_worker.decoding.marginals import Logs, log_softmax
from generation_worker.decoding.passage_prior import log_prior
from generation_worker.decoding.preferences import REPEAT_PENALTY
from generation_worker.engine.llama_engine import LlamaEngine
from generation_worker.engine.llama_model import ComputeError, LlamaModel, Row
from generation_worker.engine.prompt import pack_prompt
from generation_worker.engine.protocol import GenerationDone, GenerationFailed, PromptPacked, TextPiece
from groundwire.internal.v1 import job_pb2
from groundwire.models.locate import generator_file
from groundwire.v1 import answer_pb2, passage_pb2
from tests.generation_worker.engine.running import joined, run

CONTEXT_TOKENS = 256
SLOTS = 5
MOST_PASSAGES = 4
SEQUENCE, TOKEN = answer_pb2.ANSWER_MODE_RAG_SEQUENCE, answer_pb2.ANSWER_MODE_RAG_TOKEN
QUESTION = "What is the default timeout?"
TEXTS = (
    "The default timeout is 42 seconds.",
    "A connection is closed after 30 seconds without traffic. The limit is a setting.",
    "The harbour office answers questions about timeout rules on weekdays.",
)


@pytest.fixture(scope="module")
def engine() -> LlamaEngine:
    path = generator_file(None).path
    return LlamaEngine(path, model="smollm2", context_tokens=CONTEXT_TOKENS, slot_count=SLOTS, thread_count=2)


@pytest.fixture(scope="module")
def alone() -> LlamaModel:
    """The model in a context of one sequence."""
    return LlamaModel(generator_file(None).path, context_tokens=CONTEXT_TOKENS, sequence_count=1, thread_count=2)


def job(mode: answer_pb2.AnswerMode.ValueType, texts: Sequence[str] = TEXTS, **options: float) -> job_pb2.GenerationJob:
    passages = [
        passage_pb2.Passage(path=f"{number}.md", start_line=1, end_line=1, text=text, score=0.36 / (1 + number / 4))
        for number, text in enumerate(texts)
    ]
    return job_pb2.GenerationJob(
        question=QUESTION, passages=passages, mode=mode, **({"max_completion_tokens": 12} | options)
    )


def prompt_of(llama: LlamaModel, passage: passage_pb2.Passage) -> list[int]:
    return list(pack_prompt(llama, QUESTION, [passage], CONTEXT_TOKENS).tokens)


def log_p_after(llama: LlamaModel, prompt: Sequence[int], answer: Sequence[int]) -> Logs:
    """log p of the token after the prompt and after each token of the answer but the last, (tokens, vocabulary).

    As the generator has it: what the answer, shorter than the window, has said already is a little less likely.
    """
    llama.forget_all()
    tokens = [*prompt, *answer[:-1]]
    rows = [Row(token, place, 0, wants_next=place >= len(prompt) - 1) for place, token in enumerate(tokens)]
    found = []
    for begin in range(0, len(rows), llama.step_tokens):
        chunk = rows[begin : begin + llama.step_tokens]
        llama.compute(chunk)
        found += [llama.logits(index).astype(float) for index, row in enumerate(chunk) if row.wants_next]
    for place, logits in enumerate(found):
        for token in set(answer[:place]):
            logits[token] *= REPEAT_PENALTY if logits[token] <= 0 else 1 / REPEAT_PENALTY
    return log_softmax(np.array(found))


def test_rag_sequence_scores_every_candidate_under_every_passage(engine: LlamaEngine, alone: LlamaModel) -> None:
    one = job(SEQUENCE)
    engine.start(0, one)
    generation = engine._generations[0]
    steps: list = []
    while not engine.is_idle:
        steps += [step for _, step in engine.step()]
    candidates, scores = generation._candidates, generation._log_p_tokens
    assert len(candidates) > 1
    prompts = [prompt_of(alone, passage) for passage in one.passages]
    log_p = log_prior([passage.score for passage in one.passages])
    totals = []
    for candidate, of_candidate in zip(candidates, scores, strict=True):
        exact = np.array(
            [log_p_after(alone, prompt, candidate)[range(len(candidate)), candidate] for prompt in prompts]
        )
        assert np.array(of_candidate) == pytest.approx(exact, abs=0.02)
        totals.append(np.exp(exact.sum(axis=1) + log_p))
    best = max(range(len(candidates)), key=lambda number: totals[number].sum())
    done = steps[-1]
    assert isinstance(done, GenerationDone)
    assert [weight.prior for weight in done.weights] == pytest.approx(np.exp(log_p))
    assert [weight.posterior for weight in done.weights] == pytest.approx(totals[best] / totals[best].sum(), abs=0.01)
    written = b"".join(alone.piece(token) for token in candidates[best]).decode().strip()
    assert joined(steps) == written
    [winner] = [place for place, weight in enumerate(done.weights) if weight.wrote_answer]
    assert generation._texts[winner] == written


def test_each_candidate_is_what_its_passage_gives_by_itself(engine: LlamaEngine) -> None:
    one = job(SEQUENCE)
    engine.start(0, one)
    generation = engine._generations[0]
    while not engine.is_idle:
        engine.step()
    for place, text in enumerate(generation._texts):
        plain = job(answer_pb2.ANSWER_MODE_STUFF)
        del plain.passages[:]
        plain.passages.append(one.passages[place])
        assert joined(run(engine, plain)[0]) == text


def test_rag_token_chooses_from_the_mixture_at_every_token(engine: LlamaEngine, alone: LlamaModel) -> None:
    one = job(TOKEN)
    engine.start(0, one)
    writer = engine._generations[0]._writer
    steps: list = []
    while not engine.is_idle:
        steps += [step for _, step in engine.step()]
    chosen = writer.tokens
    log_p = log_prior([passage.score for passage in one.passages])
    # (passage, token of the answer, vocabulary)
    log_p_next = np.array([log_p_after(alone, prompt_of(alone, passage), chosen) for passage in one.passages])
    mixture = np.einsum("z,ztv->tv", np.exp(log_p), np.exp(log_p_next))
    for token, p_next in zip(chosen, mixture, strict=True):
        # Equal, or so near that the last bits of a computation in other pieces decide.
        assert p_next[token] >= p_next.max() * 0.98
    joint = np.exp(log_p[:, None] + log_p_next[:, range(len(chosen)), chosen])
    posteriors = (joint / joint.sum(axis=0)).mean(axis=1)
    done = steps[-1]
    assert isinstance(done, GenerationDone)
    assert done.completion_tokens == len(chosen) - alone.is_end(chosen[-1])
    assert [weight.posterior for weight in done.weights] == pytest.approx(posteriors, abs=0.01)
    assert [weight.prior for weight in done.weights] == pytest.approx(np.exp(log_p))
    assert not any(weight.wrote_answer for weight in done.weights)
    assert joined(steps) == b"".join(alone.piece(token) for token in chosen).decode().strip()
    assert "42" in joined(steps)


@pytest.mark.parametrize("copy_bonus", [0.0, 4.0])
@pytest.mark.parametrize("mode", [SEQUENCE, TOKEN])
def test_with_one_passage_both_give_the_greedy_text_of_one_prompt(
    engine: LlamaEngine, mode: answer_pb2.AnswerMode.ValueType, copy_bonus: float
) -> None:
    texts = ["Port 7 waits 52 seconds and port 8 waits 9. The default timeout of all others is 42 seconds."]
    plain = job(answer_pb2.ANSWER_MODE_STUFF, texts, copy_bonus=copy_bonus)
    steps = run(engine, job(mode, texts, copy_bonus=copy_bonus))[0]
    assert joined(steps) == joined(run(engine, plain)[0]) != ""
    [weight] = steps[-1].weights
    assert (weight.prior, weight.posterior) == (pytest.approx(1), pytest.approx(1))


@pytest.mark.parametrize("mode", [SEQUENCE, TOKEN])
def test_it_gives_the_same_answer_whatever_goes_on_beside_it(
    engine: LlamaEngine, mode: answer_pb2.AnswerMode.ValueType
) -> None:
    [expected] = run(engine, job(mode))
    beside = job(answer_pb2.ANSWER_MODE_STUFF, ["The sea is wide. " * 12])
    other = TOKEN if mode == SEQUENCE else SEQUENCE
    steps = run(engine, beside, job(mode), job(other))[1]  # the third waits for slots
    assert joined(steps) == joined(expected)
    assert steps[-1] == expected[-1]


def test_a_plain_job_beside_it_gets_its_text_while_the_many_prompts_are_read(engine: LlamaEngine) -> None:
    texts = [f"{number}  alpha beta gamma. " * 20 for number in range(MOST_PASSAGES)]
    engine.start(0, job(TOKEN, texts, max_completion_tokens=4))
    engine.step()
    engine.start(1, job(answer_pb2.ANSWER_MODE_STUFF, TEXTS[:1], max_completion_tokens=4))
    told: list[tuple[int, type]] = []
    while not engine.is_idle:
        told += [(key, type(step)) for key, step in engine.step()]
    assert told.index((1, GenerationDone)) < told.index((0, TextPiece))
    assert told[-1] == (0, GenerationDone)


def test_a_shorter_prompt_goes_before_the_scoring_of_many_candidates(engine: LlamaEngine) -> None:
    engine.start(0, job(SEQUENCE))
    generation = engine._generations[0]
    while not generation._candidates:
        engine.step()
    assert generation.later_tokens > 0
    engine.start(1, job(answer_pb2.ANSWER_MODE_STUFF, ["Ferries wait."], max_completion_tokens=2))
    told: list[tuple[int, type]] = []
    while not engine.is_idle:
        told += [(key, type(step)) for key, step in engine.step()]
    assert told.index((1, TextPiece)) < told.index((0, GenerationDone))
    assert generation.later_tokens == 0


@pytest.mark.parametrize("mode", [SEQUENCE, TOKEN])
def test_passages_beyond_what_one_job_may_take_are_dropped_and_named(
    engine: LlamaEngine, mode: answer_pb2.AnswerMode.ValueType
) -> None:
    many = job(mode, [*TEXTS, *TEXTS, *TEXTS], max_completion_tokens=4)
    assert engine.slots_for(many) == MOST_PASSAGES
    steps = run(engine, many)[0]
    assert steps[0].dropped_passage_indexes == tuple(range(MOST_PASSAGES, 9))
    assert len(steps[-1].weights) == MOST_PASSAGES


def test_prompts_and_completion_fit_every_slot_and_the_jobs_limit_holds_for_all_prompts_together(
    engine: LlamaEngine,
) -> None:
    long = [f"alpha beta gamma delta {number} " * 60 for number in range(3)]
    [full] = run(engine, job(SEQUENCE, long, max_completion_tokens=8))
    assert full[0].prompt_tokens <= 3 * (CONTEXT_TOKENS - 8)
    assert len(full[-1].weights) == 3
    [limited] = run(engine, job(SEQUENCE, long, max_completion_tokens=2, max_prompt_tokens=400))
    assert limited[0].prompt_tokens <= 400
    assert limited[0].dropped_passage_indexes == (2,)


def test_a_stop_at_any_moment_frees_all_slots_and_changes_no_later_answer(engine: LlamaEngine) -> None:
    [expected] = run(engine, job(SEQUENCE, max_completion_tokens=8))
    for step_count in (0, 3, 8):
        engine.start(0, job(SEQUENCE, max_completion_tokens=8))
        for _ in range(step_count):
            engine.step()
        engine.stop(0)
        assert all(slot.is_free for slot in engine._slots)
        assert engine.is_idle
    assert joined(run(engine, job(SEQUENCE, max_completion_tokens=8))[0]) == joined(expected)


def test_interruptions_change_no_answer(engine: LlamaEngine) -> None:
    [expected] = run(engine, job(SEQUENCE))
    engine.start(0, job(SEQUENCE))
    steps: list = []
    while not engine.is_idle:
        engine.interrupt()
        steps += [step for _, step in engine.step()]
        steps += [step for _, step in engine.step()]
    assert joined(steps) == joined(expected)


def test_when_llama_cpp_fails_it_fails_and_the_next_is_done(
    engine: LlamaEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(rows: object) -> None:
        monkeypatch.undo()
        raise ComputeError("llama_decode returned -3")

    monkeypatch.setattr(engine._llama, "compute", broken)
    waits = job(TOKEN, max_completion_tokens=2)
    failed, done = run(engine, job(SEQUENCE), waits)
    assert [type(step) for step in failed] == [PromptPacked, GenerationFailed]
    assert isinstance(done[-1], GenerationDone)


@pytest.mark.parametrize("mode", [SEQUENCE, TOKEN])
def test_without_passages_it_says_so(engine: LlamaEngine, mode: answer_pb2.AnswerMode.ValueType) -> None:
    [[failed]] = run(engine, job(mode, []))
    assert isinstance(failed, GenerationFailed)
    assert "no passage" in str(failed.error)
