"""A job's events give one stream of the answer's, whatever their order of attempts; replaying them gives the same."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2, error_pb2
from retrieval_server.generation.answer_model import AnswerState, Delta, Event, Restarted, Result, Retrieved
from retrieval_server.generation.job_messages import (
    MAX_JOB_CHARS,
    job_passage_count,
)
from retrieval_server.generation.transcript import Transcript
from retrieval_server.model import ContentKind, ListScore, Passage, Prior
from retrieval_server.passage_message import passage_from_pb, passage_to_pb
from tests.retrieval_server.generation.documents import whole

PASSAGES = (whole("The default timeout is 30 seconds.\n"), whole("Retries: at most 5.\n", path="b.md"))


def retrieved(fallback: answer_pb2.AnswerFallback.ValueType, *passages: Passage) -> job_pb2.JobRetrieved:
    return job_pb2.JobRetrieved(
        request_id="q", passages=map(passage_to_pb, passages or PASSAGES), fallback=fallback, question="timeout?"
    )


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


def test_passages_beyond_what_a_job_carries_count_as_dropped() -> None:
    big = tuple(whole("word " * 20_000, path=f"{i}.md") for i in range(4))
    assert job_passage_count(big) == MAX_JOB_CHARS // 100_000
    assert job_passage_count(big[:1] * 2) == 2
    assert job_passage_count((whole("x" * (MAX_JOB_CHARS + 1)),)) == 1
    assert job_passage_count(()) == 0
    ended = job_pb2.JobEvent(sequence=2, ended=job_pb2.JobEnded(outcome=job_pb2.JOB_OUTCOME_EXPIRED))
    result = told(retrieved(answer_pb2.ANSWER_FALLBACK_NONE, *big), [ended])[-1].content
    assert result.generator.dropped_passage_indexes == (2, 3)


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
