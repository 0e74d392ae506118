"""The worker's settings: one frozen object, read once from the environment. Nothing else reads the environment."""

import os
import secrets
import socket
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


def _unique_worker_id() -> str:
    # Never used again by another process: what is pending for a dead worker must not look like a live one's.
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


class WorkerSettings(BaseSettings):
    """Each field is set by GROUNDWIRE_ and its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="GROUNDWIRE_", frozen=True, extra="ignore", env_ignore_empty=True)

    redis_url: str = "redis://127.0.0.1:6379/0"
    models_dir: Path | None = None
    generator_path: Path | None = Field(default=None, description="a GGUF chat model to use instead of the default one")
    log_level: str = Field(default="INFO", pattern="(?i)^(debug|info|warning|error|critical)$")
    worker_id: str = Field(default_factory=_unique_worker_id, min_length=1, description="unique among workers")
    worker_threads: int | None = Field(default=None, ge=1, description="default: the cores this process may use")
    worker_slots: int = Field(default=8, ge=1, le=64, description="jobs that are worked on at once")
    worker_gpu_layers: int = Field(default=0, ge=-1, description="layers of the model on a GPU; -1 is all of them")
    worker_context_tokens: int = Field(
        default=8192, ge=512, description="prompt and completion together, of each job; takes memory times the slots"
    )
    queue_partition_count: int = Field(default=1, ge=1, le=1024)
    lease_s: float = Field(
        default=10.0, ge=0.5, le=86_400, description="silence after which a job is taken from its worker"
    )
    worker_drain_timeout_s: float = Field(
        default=10.0,
        ge=0,
        le=86_400,
        description="how long SIGTERM waits for the jobs in hand before they are handed back",
    )
