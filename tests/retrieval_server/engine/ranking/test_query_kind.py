"""AUTO: the kind of a query, and why."""

import pytest

from retrieval_server.engine.ranking.query_kind import query_kind
from retrieval_server.model import Profile

NAMES = [
    "BlockPool",
    "block_pool.release",
    "Scheduler::step",
    "MAX_BATCH_TOKENS",
    "--chunk-size",
    "`flush`",
    "release_block()",
    "parseHeader",
    "scheduler",
    "class BlockPool",
]
TOPICS = [
    "how is DNS resolved asynchronously",
    "retrying failed downloads",
    "splitting a large file into parts",
    "JavaScript in pages",
    "HTTP/2 support",
    "memory of a worker that grows",
    "overview of the request life cycle",
    "serialisation",
]
FACTS = [
    "What is the default value of chunk_size?",
    "Which exception is raised when the pool is empty?",
    "why does BlockPool keep a free list",
    "How many retries are made before a job is given up?",
    "the worker logs a warning and then the socket is closed by the peer and after some time nothing is read any more",
    "what is this",
    "zqxwvk2",
    "8f3a91c07de4",
]
DEFINED = {"blockpool", "scheduler", "release"}


@pytest.mark.parametrize(
    ("query", "profile"),
    [
        *((query, Profile.SYMBOL) for query in NAMES),
        *((query, Profile.EXPLORE) for query in TOPICS),
        *((query, Profile.PRECISE) for query in FACTS),
    ],
)
def test_the_kind_of_a_query_follows_from_its_words(query: str, profile: Profile) -> None:
    kind = query_kind(query, DEFINED.__contains__)
    assert kind.profile is profile
    assert kind.explanation


def test_a_word_is_a_name_only_where_something_is_named_so() -> None:
    assert query_kind("TensorFlow", lambda _: True).profile is Profile.SYMBOL
    assert query_kind("TensorFlow", lambda _: False).profile is Profile.EXPLORE


def test_the_identifier_that_a_question_quotes_is_told() -> None:
    kind = query_kind("What does release_block return?", lambda _: False)
    assert (kind.profile, kind.identifier) == (Profile.PRECISE, "release_block")
    assert "release_block" in kind.explanation
    assert query_kind("What does it return?", lambda _: False).identifier == ""


@pytest.mark.parametrize(
    "query", ["", "?", "..", "( ) [ ]", "🚀", "漢字", "a" * 5000, "`" * 3000, "_" * 3000, "a." * 3000]
)
def test_any_text_has_a_kind(query: str) -> None:
    assert query_kind(query, lambda _: False).profile in Profile


@pytest.mark.timeout(20)
def test_a_long_query_of_one_word_is_read_in_time_that_grows_with_it():
    assert query_kind("a_" * 100_000 + "$", lambda _: False).profile is Profile.PRECISE
