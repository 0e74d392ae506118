"""RAG_SEQUENCE and RAG_TOKEN on the server's side: what the job holds, and how its answer is checked and told."""

from dataclasses import replace

import pytest

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2, error_pb2
from retrieval_server.errors import FailedPrecondition
from retrieval_server.generation.answers.answer_model import AnswerMode, AnswerState, PassageWeight, Result
from retrieval_server.generation.jobs.job_messages import add_plan, job_message
from retrieval_server.generation.jobs.job_plan import JobPlan, plan_job
from retrieval_server.generation.jobs.transcript import Transcript
from retrieval_server.generation.packing.packing import PackingOptions, PackingOrder, pack_passages
from retrieval_server.generation.packing.prompt_packing import pack_passage_prompts, pack_prompt
from retrieval_server.passage_message import passage_to_pb
from tests.retrieval_server.generation.answering.support import asking
from tests.retrieval_server.generation.documents import whole

MODES = (AnswerMode.RAG_SEQUENCE, AnswerMode.RAG_TOKEN)
MODE_NUMBERS = (answer_pb2.ANSWER_MODE_RAG_SEQUENCE, answer_pb2.ANSWER_MODE_RAG_TOKEN)
SAME_LINE = "The default timeout is 30 seconds.\n"
PASSAGES = (
    replace(whole(SAME_LINE, path="a.md"), score=0.3),
    replace(whole(SAME_LINE, path="b.md"), score=0.2),
    replace(whole("Retries: at most 5.\n", path="c.md"), score=0.1),
)


def ended(mode: answer_pb2.AnswerMode.ValueType, text: str, *weights: PassageWeight) -> Result:
    """The result of a job over PASSAGES that ended with this text."""
    first = job_pb2.JobRetrieved(
        passages=map(passage_to_pb, PASSAGES), question="timeout?", min_supported_share=0.5, mode=mode
    )
    add_plan(first, JobPlan(pack_passages("timeout?", PASSAGES, PackingOptions()), ""))
    generator = answer_pb2.GeneratorInfo(
        model="m",
        mode=mode,
        passage_weights=[
            answer_pb2.PassageWeight(
                packed_index=one.packed_index,
                prior=one.prior,
                posterior=one.posterior,
                wrote_answer=one.wrote_answer,
            )
            for one in weights
        ],
    )
    end = job_pb2.JobEnded(outcome=job_pb2.JOB_OUTCOME_FINISHED, text=text, generator=generator)
    result = Transcript(first).follow(job_pb2.JobEvent(sequence=2, ended=end))[-1].content
    assert isinstance(result, Result)
    return result


@pytest.mark.parametrize("mode", MODES)
def test_the_job_names_its_mode_and_holds_one_span_of_each_passage_with_its_score(mode: AnswerMode) -> None:
    lines = [f"Filler line number {number} about nothing at all.\n" for number in range(30)]
    lines[3] = "The default request timeout is 30 seconds.\n"
    lines[20] = "A request timeout of 0 is refused; the default stays.\n"
    passages = (replace(whole("".join(lines), path="a.md"), score=0.3), PASSAGES[2])
    question = asking(mode=mode, packing=PackingOptions(focus_chars=120))
    parts = pack_passages(question.retrieve.query, passages, question.options.packing).packed
    assert [one.passage_indexes for one in parts].count((0,)) > 1
    plan = plan_job(question, passages)
    [span, *_] = [one.passage for one in plan.packing.packed if one.passage_indexes == (0,)]
    assert [one.passage_indexes for one in plan.packing.packed].count((0,)) == 1
    assert lines[3] in span.text
    assert "A request timeout of 0" in span.text
    assert passages[0].text[span.start_char : span.end_char] == span.text
    job = job_message(question, "j", plan)
    assert job.mode == answer_pb2.AnswerMode.Value(f"ANSWER_MODE_{mode.name}")
    assert job.passages[0].score == pytest.approx(0.3)


@pytest.mark.parametrize("mode", MODES)
def test_the_order_of_one_prompt_does_not_change_which_passage_is_dropped_first(mode: AnswerMode) -> None:
    best_last = PackingOptions(order=PackingOrder.BEST_LAST)
    plans = [plan_job(asking(mode=mode, packing=packing), PASSAGES) for packing in (PackingOptions(), best_last)]
    assert plans[0] == plans[1]


def test_a_rendered_prompt_has_a_whole_prompt_for_each_passage_that_the_budget_holds() -> None:
    messages = [passage_to_pb(one) for one in PASSAGES]
    single = pack_prompt("why?", messages[:1], 10_000, answer_start="It")
    packed = pack_passage_prompts("why?", messages, 10_000, answer_start="It")
    assert packed.dropped_passage_indexes == ()
    assert packed.segments[: len(single.segments)] == single.segments
    assert len(packed.segments) == 3 * len(single.segments)
    less = pack_passage_prompts("why?", messages, packed.estimated_tokens - 1, answer_start="It")
    assert less.dropped_passage_indexes == (2,)
    assert less.segments == packed.segments[: 2 * len(single.segments)]


def test_the_answer_of_one_candidate_cites_the_passage_that_wrote_it() -> None:
    weights = (PassageWeight(0, 0.6, 0.7), PassageWeight(1, 0.4, 0.3, wrote_answer=True))
    result = ended(answer_pb2.ANSWER_MODE_RAG_SEQUENCE, "The default timeout is 30 seconds.", *weights)
    assert result.state is AnswerState.ANSWERED
    assert [one.path for one in result.citations] == ["b.md"]
    assert result.citations[0].passage_index == 1
    assert result.generator is not None
    assert (result.generator.mode, result.generator.passage_weights) == (AnswerMode.RAG_SEQUENCE, weights)


def test_what_stands_in_a_passage_that_did_not_write_it_does_not_back_a_candidate() -> None:
    weights = (PassageWeight(0, 0.5, 0.5), PassageWeight(2, 0.5, 0.5, wrote_answer=True))
    result = ended(answer_pb2.ANSWER_MODE_RAG_SEQUENCE, "The default timeout is 30 seconds.", *weights)
    assert result.generator is not None
    assert result.generator.model == "extractive"
    assert result.generator.fallback_reason == error_pb2.ERROR_REASON_GENERATION_FAILED


@pytest.mark.parametrize(("posteriors", "cited"), [((0.2, 0.8), "b.md"), ((0.8, 0.2), "a.md")])
def test_of_equal_lines_a_mixture_cites_the_one_it_was_more_likely_written_from(
    posteriors: tuple[float, float], cited: str
) -> None:
    weights = [PassageWeight(place, 0.5, posterior) for place, posterior in enumerate(posteriors)]
    result = ended(answer_pb2.ANSWER_MODE_RAG_TOKEN, "The default timeout is 30 seconds.", *weights)
    assert [one.path for one in result.citations] == [cited]
    assert PASSAGES[result.citations[0].passage_index].path == cited


@pytest.mark.parametrize("mode", MODE_NUMBERS)
@pytest.mark.parametrize("fallback", [answer_pb2.ANSWER_FALLBACK_NONE, answer_pb2.ANSWER_FALLBACK_EXTRACTIVE])
def test_a_generator_that_cannot_work_in_the_mode_is_told_or_replaced(
    mode: answer_pb2.AnswerMode.ValueType, fallback: answer_pb2.AnswerFallback.ValueType
) -> None:
    first = job_pb2.JobRetrieved(
        passages=map(passage_to_pb, PASSAGES), question="timeout?", mode=mode, fallback=fallback
    )
    reason = error_pb2.ERROR_REASON_MODE_NOT_SUPPORTED
    end = job_pb2.JobEnded(
        outcome=job_pb2.JOB_OUTCOME_FAILED, reason=reason, message="The openai backend cannot work in mode RAG_TOKEN."
    )
    result = Transcript(first).follow(job_pb2.JobEvent(sequence=2, ended=end))[-1].content
    assert isinstance(result, Result)
    assert result.generator is not None
    if fallback == answer_pb2.ANSWER_FALLBACK_NONE:
        assert isinstance(result.error, FailedPrecondition)
        assert result.error.reason == reason
        assert "ask for STUFF" in result.error.message
        assert result.generator.mode.name == answer_pb2.AnswerMode.Name(mode).removeprefix("ANSWER_MODE_")
    else:
        assert (result.state, result.generator.fallback_reason) == (AnswerState.ANSWERED, reason)
