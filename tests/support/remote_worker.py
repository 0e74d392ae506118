"""A worker whose only backend is a remote model: it has no model file and cannot do without the other side."""

from pathlib import Path

from tests.support.fake_openai import FakeOpenAi
from tests.support.processes import Worker
from tests.support.valkey import Valkey


def remote_worker(folder: Path, valkey: Valkey, remote: FakeOpenAi, **settings: str) -> Worker:
    """A worker that is not started yet, with more `settings` than it needs."""
    return Worker(
        folder,
        redis_url=valkey.url,
        GROUNDWIRE_MODELS_DIR=str(folder / "no models"),
        GROUNDWIRE_BACKENDS="openai",
        GROUNDWIRE_OPENAI_URL=remote.url,
        GROUNDWIRE_OPENAI_MODEL="big-model",
        **settings,
    )
