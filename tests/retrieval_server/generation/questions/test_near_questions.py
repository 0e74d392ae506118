"""Questions that must never share an answer, and rewordings that may."""

import pytest

from retrieval_server.generation.questions.near_questions import may_share_an_answer


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("How do I enable prefix caching?", "How do I disable prefix caching?"),
        ("Is the cache safe for threads?", "Is the cache unsafe for threads?"),
        ("What happens before a snapshot?", "What happens after a snapshot?"),
        ("Which models support LoRA?", "Which models do not support LoRA?"),
        ("Why doesn't it start?", "Why does it start?"),
        ("What is the maximum batch size?", "What is the minimum batch size?"),
        ("What changed in version 0.9?", "What changed in version 0.10?"),
        ("How many retries are made in 3 seconds?", "How many retries are made in 30 seconds?"),
        ("What does max_tokens do?", "What does min_tokens do?"),
        ("What does LlamaEngine do?", "What does LlamaModel do?"),
        ("How do I convert JSON to YAML?", "How do I convert YAML to JSON?"),
        ("Does the server call the client?", "Does the client call the server?"),
        ("Run it with tracing", "Run it without tracing"),
        ("How to encode a frame?", "How to decode a frame?"),
        ("Is inbound traffic limited?", "Is outbound traffic limited?"),
        ("Where is overflow handled?", "Where is underflow handled?"),
    ],
)
def test_contrary_or_different_questions_share_nothing(question: str, other: str) -> None:
    assert not may_share_an_answer(question, other)
    assert not may_share_an_answer(other, question)


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("How is prefix caching enabled?", "How is prefix caching enabled"),
        ("How do I configure retries?", "How can I configure the retries?"),
        ("What is the default timeout?", "what's the default timeout"),
        ("Where does max_tokens come from?", "Tell me where max_tokens comes from."),
    ],
)
def test_rewordings_may_share_an_answer(question: str, other: str) -> None:
    assert may_share_an_answer(question, other)
