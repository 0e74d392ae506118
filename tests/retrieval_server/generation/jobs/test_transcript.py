"""A job's events give one stream of the answer's, whatever their order of attempts; replaying them gives the same."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2, error_pb2
from retrieval_server.generation.answers.answer_model import AnswerState, Delta, Event, Restarted, Result, Retrieved
from retrieval_server.generation.jobs.job_messages import add_plan
from retrieval_server.generation.jobs.job_plan import JobPlan
from retrieval_server.generation.jobs.transcript import Transcript
from retrieval_server.generation.packing.packing import PackingOptions, pack_passages
from retrieval_server.model import ContentKind, ListScore, Passage, Prior
from retrieval_server.passage_message import passage_from_pb, passage_to_pb
from tests.retrieval_server.generation.documents import whole

PASSAGES = (whole("The default timeout is 30 seconds.\n"), whole("Retries: at most 5.\n", path="b.md"))


START = "The default timeout is"


def retrieved(
    fallback: answer_pb2.AnswerFallback.ValueType, *, start: str = "", min_supported_share: float = 0.5
) -> job_pb2.JobRetrieved:
    first = job_pb2.JobRetrieved(
        request_id="q",
        passages=map(passage_to_pb, PASSAGES),
        fallback=fallback,
        question="timeout?",
        min_supported_share=min_supported_share,
    )
    add_plan(first, JobPlan(pack_passages("timeout?", PASSAGES, PackingOptions()), start))
    return first


def finished(*said: str) -> list[job_pb2.JobEvent]:
    """A job of one attempt that says this and finishes."""
    events = [job_pb2.JobEvent(attempt=1, started=job_pb2.JobStarted(model="m"))]
    events += [job_pb2.JobEvent(attempt=1, delta=job_pb2.JobDelta(text=text)) for text in said]
    ended = job_pb2.JobEnded(outcome=job_pb2.JOB_OUTCOME_FINISHED, text="".join(said))
    events.append(job_pb2.JobEvent(ended=ended))
    for sequence, event in enumerate(events, start=2):
        event.sequence = sequence
    return events


def told(first: job_pb2.JobRetrieved, events: list[job_pb2.JobEvent]) -> list[Event]:
    transcript = Transcript(first)
    return [transcript.begin(), *(told for event in events for told in transcript.follow(event))]


@st.composite
def job_histories(draw: st.DrawFn) -> list[job_pb2.JobEvent]:
    """Attempts that each say something, the last of which ends."""
    texts = st.sampled_from(["The default timeout ", "is 30 seconds. ", "Bananas. ", "x" * 60, ""])
    events: list[job_pb2.JobEvent] = []
    said: list[str] = []
    for attempt in range(1, draw(st.integers(0, 3)) + 1):
        said = draw(st.lists(texts, max_size=4))
        dropped = draw(st.sampled_from([(), (1,), (0, 1)]))
        started = job_pb2.JobStarted(model="m", dropped_passage_indexes=dropped)
        events.append(job_pb2.JobEvent(attempt=attempt, started=started))
        events.extend(job_pb2.JobEvent(attempt=attempt, delta=job_pb2.JobDelta(text=text)) for text in said)
    outcome = draw(st.sampled_from(job_pb2.JobOutcome.values()))
    reason = draw(st.sampled_from([0, error_pb2.ERROR_REASON_JOB_LOST, error_pb2.ERROR_REASON_GENERATION_FAILED]))
    text = "".join(said) if outcome == job_pb2.JOB_OUTCOME_FINISHED else ""
    events.append(job_pb2.JobEvent(ended=job_pb2.JobEnded(outcome=outcome, text=text, reason=reason)))
    for sequence, event in enumerate(events, start=2):
        event.sequence = sequence
    return events


@given(job_histories(), st.sampled_from(answer_pb2.AnswerFallback.values()))
def test_every_history_is_one_well_formed_stream_and_replays_alike(
    history: list[job_pb2.JobEvent], fallback: answer_pb2.AnswerFallback.ValueType
) -> None:
    events = told(retrieved(fallback), history)
    assert (
        told(retrieved(fallback), history) == events or events[-1].content.error is not None
    )  # errors have no equality
    assert [e.sequence for e in told(retrieved(fallback), history)] == [e.sequence for e in events]
    assert isinstance(events[0].content, Retrieved)
    assert [isinstance(e.content, Result) for e in events] == [False] * (len(events) - 1) + [True]
    assert all(one.sequence < other.sequence for one, other in pairwise(events))
    result = events[-1].content
    text = ""
    attempts = [1]
    for event in events:
        if isinstance(event.content, Restarted):
            text = ""
            attempts.append(event.content.attempt)
        elif isinstance(event.content, Delta):
            assert event.content.text
            text += event.content.text
    assert attempts == sorted(set(attempts))
    assert result.attempt_count == attempts[-1]
    assert (result.error is None) == (result.state in (AnswerState.ANSWERED, AnswerState.SKIPPED))
    if result.state is AnswerState.ANSWERED:
        assert result.text == text
        assert result.text.strip()


def test_numbers_of_events_are_those_of_the_job_so_that_they_hold_while_it_runs() -> None:
    history = [
        job_pb2.JobEvent(sequence=2, attempt=1, started=job_pb2.JobStarted(model="m")),
        job_pb2.JobEvent(sequence=3, attempt=1, delta=job_pb2.JobDelta(text="Bananas.")),
        job_pb2.JobEvent(sequence=4, ended=job_pb2.JobEnded(outcome=job_pb2.JOB_OUTCOME_FINISHED, text="Bananas.")),
    ]
    assert [event.sequence for event in told(retrieved(answer_pb2.ANSWER_FALLBACK_NONE), history)] == [1, 3, 4]
    extracted = told(retrieved(answer_pb2.ANSWER_FALLBACK_EXTRACTIVE), history)
    assert [event.sequence for event in extracted] == [1, 3, 4, 5, 6]


@pytest.mark.parametrize("said", [(" 30 seconds.",), ("30 ", "seconds."), (" `30` seconds.",), ("`30` seconds.",)])
def test_the_model_goes_on_from_the_answers_start(said: tuple[str, ...]) -> None:
    events = told(retrieved(answer_pb2.ANSWER_FALLBACK_EXTRACTIVE, start=START), finished(*said))
    result = events[-1].content
    assert result.text.replace("`", "") == "The default timeout is 30 seconds."
    assert "".join(event.content.text for event in events if isinstance(event.content, Delta)) == result.text
    assert [sentence.supported for sentence in result.sentences] == [True]


def test_what_nothing_supports_is_taken_out_of_an_answer_that_is_good_enough() -> None:
    history = finished("The default timeout is 30 seconds. ", "Bananas ripen.")
    events = told(retrieved(answer_pb2.ANSWER_FALLBACK_EXTRACTIVE), history)
    result = events[-1].content
    assert result.text == "The default timeout is 30 seconds."
    assert result.generator.model == "m"
    assert [type(event.content) for event in events[-3:]] == [Restarted, Delta, Result]
    kept = told(retrieved(answer_pb2.ANSWER_FALLBACK_NONE), history)[-1].content
    assert [sentence.supported for sentence in kept.sentences] == [True, False]


def test_what_announces_a_list_stays_and_what_is_said_again_goes() -> None:
    history = finished(
        "The defaults are:\n- The default timeout is 30 seconds.\n- The default timeout is 30 seconds.\n"
    )
    result = told(retrieved(answer_pb2.ANSWER_FALLBACK_EXTRACTIVE, min_supported_share=0.3), history)[-1].content
    assert result.text == "The defaults are:\n- The default timeout is 30 seconds."
    assert [sentence.supported for sentence in result.sentences] == [True]


def test_of_a_model_that_does_not_stop_only_the_first_line_counts() -> None:
    first = retrieved(answer_pb2.ANSWER_FALLBACK_NONE, start=START)
    first.first_statement_only = True
    events = told(first, finished(" 30 seconds.\nimport bananas"))
    assert events[-1].content.text == "The default timeout is 30 seconds."
    assert [type(event.content) for event in events[-3:]] == [Restarted, Delta, Result]
    assert events[-1].content.attempt_count == events[-3].content.attempt == 2


def test_how_much_must_be_supported_is_for_the_request_to_say() -> None:
    history = finished("The default timeout is 30 seconds. Bananas ripen.")
    strict = retrieved(answer_pb2.ANSWER_FALLBACK_EXTRACTIVE, min_supported_share=0.9)
    assert told(strict, history)[-1].content.generator.model == "extractive"


def test_citations_name_the_passages_that_were_retrieved_and_drops_are_told() -> None:
    passages = (whole("Nothing.\n", path="z.md"), *PASSAGES)
    first = job_pb2.JobRetrieved(passages=map(passage_to_pb, passages), question="timeout?", min_supported_share=0.5)
    add_plan(first, JobPlan(pack_passages("timeout?", passages, PackingOptions(focus_chars=100)), ""))
    result = told(first, finished("The default timeout is 30 seconds."))[-1].content
    assert [(one.path, one.passage_index) for one in result.citations] == [("docs/guide.md", 1)]
    assert 0 in result.generator.dropped_passage_indexes
    assert [one.passage_indexes for one in result.packing.packed] == [(1,)]


def test_an_answer_from_a_closed_book_is_told_as_it_is_and_nothing_in_it_is_supported() -> None:
    first = job_pb2.JobRetrieved(question="timeout?", closed_book=True, min_supported_share=0.5)
    result = told(first, finished("It is 30 seconds."))[-1].content
    assert (result.state, result.text) == (AnswerState.ANSWERED, "It is 30 seconds.")
    assert [sentence.supported for sentence in result.sentences] == [False]
    assert result.packing is None


def test_every_field_of_a_passage_crosses_the_queue() -> None:
    passage = Passage(
        passage_id="p",
        document_id="d",
        path="a/b.py",
        start_char=3,
        end_char=8,
        start_line=2,
        end_line=3,
        text="a\nb c",
        breadcrumbs=("A", "b"),
        language="python",
        kind=ContentKind.CODE,
        score=0.5,
        list_scores=(ListScore("bm25", 1, 2.5, 0.25, ("b",)),),
        priors=(Prior("test_source", 0.5),),
    )
    assert passage_from_pb(passage_to_pb(passage)) == passage


def test_of_a_generator_that_cannot_go_on_from_a_start_the_text_is_the_whole_answer() -> None:
    events = finished("The default timeout is 30 seconds.")
    events[0].started.ignores_answer_start = events[-1].ended.ignores_answer_start = True
    told_events = told(retrieved(answer_pb2.ANSWER_FALLBACK_EXTRACTIVE, start=START), events)
    assert [one.content.text for one in told_events if isinstance(one.content, Delta)] == [events[-1].ended.text]
    assert told_events[-1].content.text == "The default timeout is 30 seconds."
    assert told_events[-1].content.attempt_count == 1


def test_an_attempt_of_another_generator_begins_with_the_start_again_and_says_why() -> None:
    broken, *rest = finished("It takes")
    broken.started.ignores_answer_start, broken.started.backend = True, "openai"
    restarted = job_pb2.JobStarted(
        model="n", backend="llama.cpp", restart_reason=error_pb2.ERROR_REASON_GENERATION_FAILED
    )
    ended = job_pb2.JobEnded(outcome=job_pb2.JOB_OUTCOME_FINISHED, text="30 seconds.")
    events = [
        broken,
        rest[0],
        job_pb2.JobEvent(sequence=4, attempt=2, started=restarted),
        job_pb2.JobEvent(sequence=5, attempt=2, delta=job_pb2.JobDelta(text="30 seconds.")),
        job_pb2.JobEvent(sequence=6, attempt=2, ended=ended),
    ]
    contents = [one.content for one in told(retrieved(answer_pb2.ANSWER_FALLBACK_EXTRACTIVE, start=START), events)]
    assert contents[1:-1] == [
        Delta("It takes"),
        Restarted(2, error_pb2.ERROR_REASON_GENERATION_FAILED),
        Delta(START),
        Delta(" 30 seconds."),
    ]
    assert contents[-1].text == f"{START} 30 seconds."
    assert (contents[-1].generator.model, contents[-1].generator.backend) == ("n", "llama.cpp")
