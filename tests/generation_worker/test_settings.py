"""The worker's settings, as the environment gives them."""

import pytest
from pydantic import ValidationError

from generation_worker.settings import WorkerSettings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BACKENDS", "llama,cloud"),
        ("BACKENDS", "llama,llama"),
        ("BACKENDS", ","),
        ("OPENAI_URL", "ftp://host/v1"),
        ("OPENAI_URL", "host/v1"),
        ("OPENAI_URL", "http://host/v1?key=x"),
        ("OPENAI_URL", "http://host:99999/v1"),
        ("OPENAI_URL", "http://ho..st/v1"),
        ("OPENAI_URL", f"http://{'h' * 64}/v1"),
        ("OPENAI_URL", "http://ho st/v1"),
        ("OPENAI_EXTRA", '{"top_k": NaN}'),
        ("OPENAI_API_KEY", "two words"),
        ("OPENAI_API_KEY", "line\nbreak"),
        ("OPENAI_API_KEY", "schlüssel"),
        ("OPENAI_EXTRA", "[1]"),
        ("OPENAI_EXTRA", '{"top_k": 1e999}'),
        ("OPENAI_EXTRA", r'{"user": "\ud800"}'),
        pytest.param("OPENAI_EXTRA", '{"a": ' + "[" * 100_000, id="deep"),
        ("OPENAI_SILENCE_TIMEOUT_S", "nan"),
        ("BACKEND_FAILURE_LIMIT", "0"),
        ("BACKEND_COOLDOWN_S", "0"),
        ("WORKER_THREADS", "1000000"),
        ("WORKER_GPU_LAYERS", "9" * 30),
        ("WORKER_CONTEXT_TOKENS", "9" * 30),
    ],
)
def test_what_cannot_be_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, name: str, value: str):
    monkeypatch.setenv(f"GROUNDWIRE_{name}", value)
    with pytest.raises(ValidationError) as refused:
        WorkerSettings()
    assert refused.value.errors()[0]["loc"][0] == name.lower()


def test_backends_are_a_list_with_commas(monkeypatch: pytest.MonkeyPatch):
    assert WorkerSettings().backends == ("llama",)
    monkeypatch.setenv("GROUNDWIRE_BACKENDS", "openai, llama")
    monkeypatch.setenv("GROUNDWIRE_OPENAI_URL", "https://host/v1")
    monkeypatch.setenv("GROUNDWIRE_OPENAI_MODEL", "m")
    monkeypatch.setenv("GROUNDWIRE_OPENAI_API_KEY", "secret")
    settings = WorkerSettings()
    assert settings.backends == ("openai", "llama")
    assert "secret" not in repr(settings) + str(settings.model_dump())
