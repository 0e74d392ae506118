"""Answers that no job made are kept for their time to live and within a bound on memory."""

import pytest

from retrieval_server.errors import Conflict
from retrieval_server.generation.answers.answer_model import Event, Question, Retrieved
from retrieval_server.generation.cache import kept_answers
from retrieval_server.generation.cache.kept_answers import KeptAnswers
from retrieval_server.generation.extracting.direct_answers import skipped_events
from retrieval_server.model import SkippedReason
from tests.retrieval_server.generation.answering.support import OPTIONS, QUESTION
from tests.retrieval_server.generation.documents import whole


def question(request_id: str, request_hash: bytes = b"h") -> Question:
    return Question(QUESTION.retrieve, OPTIONS, request_id, request_hash, id_is_callers=True)


def events(char_count: int = 10) -> tuple[Event, ...]:
    return skipped_events("q", Retrieved("q", (whole("x" * char_count),), 1), SkippedReason.LOW_RELEVANCE)


def test_an_answer_is_found_by_its_id_and_hash_until_its_time_is_over() -> None:
    now_s = 100.0
    kept = KeptAnswers(ttl_s=5, monotonic_s=lambda: now_s)
    kept.keep(question("a"), events())
    assert kept.find("a") == kept.find("a", b"h") == events()
    assert kept.find("b") is None
    with pytest.raises(Conflict):
        kept.find("a", b"other")
    now_s = 105.0
    assert kept.find("a", b"other") is None


def test_the_oldest_go_when_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "_OVERHEAD_CHARS", 0)
    monkeypatch.setattr(kept_answers, "_MAX_KEPT_CHARS", 25)
    kept = KeptAnswers(ttl_s=5)
    for request_id in ("a", "b", "b", "c"):
        kept.keep(question(request_id), events(10))
    assert [kept.find(request_id) is not None for request_id in "abc"] == [False, True, True]
    kept.keep(question("big"), events(100))
    assert kept.find("big") is None


def test_answers_without_passages_take_memory_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks what nothing is found for must not fill it."""
    monkeypatch.setattr(kept_answers, "_MAX_KEPT_CHARS", 10_000)
    kept = KeptAnswers(ttl_s=5)
    nothing = skipped_events("q", Retrieved("q", (), 1), SkippedReason.NO_PASSAGES)
    for number in range(100):
        kept.keep(question(str(number)), nothing)
    assert kept.find("99") == nothing
    assert sum(kept.find(str(number)) is not None for number in range(100)) < 50
