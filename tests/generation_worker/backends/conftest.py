"""Retries that wait next to nothing."""

import pytest

from generation_worker.backends import openai_backend
from generation_worker.backends.retrying import Tries
from groundwire.queue.connection import Backoff


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_backend, "Tries", lambda: Tries(_backoff=Backoff(first_s=0.01, most_s=0.02)))
