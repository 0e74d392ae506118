"""The worker's settings: one frozen object, read once from the environment. Nothing else reads the environment."""

import json
import os
import secrets
import socket
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


def _unique_worker_id() -> str:
    # Never used again by another process: what is pending for a dead worker must not look like a live one's.
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


def _refuse_constant(name: str) -> None:
    # Python reads NaN and Infinity, which are no JSON and cannot be sent.
    raise ValueError(name)


class WorkerSettings(BaseSettings):
    """Each field is set by GROUNDWIRE_ and its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="GROUNDWIRE_", frozen=True, extra="ignore", env_ignore_empty=True)

    redis_url: str = "redis://127.0.0.1:6379/0"
    models_dir: Path | None = None
    generator_path: Path | None = Field(default=None, description="a GGUF chat model to use instead of the default one")
    log_level: str = Field(default="INFO", pattern="(?i)^(debug|info|warning|error|critical)$")
    worker_id: str = Field(
        default_factory=_unique_worker_id, min_length=1, max_length=256, description="unique among workers"
    )
    worker_threads: int | None = Field(
        default=None, ge=1, le=1024, description="default: the cores this process may use"
    )
    worker_slots: int = Field(default=8, ge=1, le=64, description="jobs that are worked on at once")
    worker_gpu_layers: int = Field(
        default=0, ge=-1, le=100_000, description="layers of the model on a GPU; -1 is all of them"
    )
    worker_context_tokens: int = Field(
        default=8192,
        ge=512,
        le=2**24,
        description="prompt and completion together, of each job; takes memory times the slots",
    )
    backends: Annotated[tuple[Literal["llama", "openai"], ...], NoDecode] = Field(
        default=("llama",), min_length=1, description="what generates, in order: each stands in for those before it"
    )
    openai_url: str | None = Field(
        default=None, description="of an OpenAI-compatible interface, up to /v1: /chat/completions is added"
    )
    openai_model: str | None = Field(default=None, min_length=1, description="the model's name there")
    openai_api_key: SecretStr | None = Field(default=None, description="sent as a bearer token, to openai_url alone")
    openai_silence_timeout_s: float = Field(
        default=60.0,
        gt=0,
        le=3600,
        description="silence after which a response counts as failed; at most half a job's time",
    )
    openai_extra: Annotated[dict[str, JsonValue], NoDecode] = Field(
        default_factory=dict,
        description="JSON object whose fields go into each request, in place of ours; a null leaves one of ours out",
    )
    backend_failure_limit: int = Field(
        default=3, ge=1, le=1000, description="failures in a row after which a remote backend is left alone"
    )
    backend_cooldown_s: float = Field(default=30.0, gt=0, le=86_400, description="for so long; then one job tries it")
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

    @field_validator("backends", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(name.strip() for name in value.split(",")) if isinstance(value, str) else value

    @field_validator("openai_extra", mode="before")
    @classmethod
    def _parsed(cls, value: object) -> object:
        try:
            parsed = json.loads(value, parse_constant=_refuse_constant) if isinstance(value, str) else value
            # Numbers that are too large are read as infinite, and half a surrogate pair as text.
            json.dumps(parsed, allow_nan=False, ensure_ascii=False).encode()
        except (ValueError, TypeError, RecursionError):
            raise ValueError("must be a JSON object") from None
        return parsed

    @field_validator("backends")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) < len(value):
            raise ValueError("each backend may be named once")
        return value

    @field_validator("openai_url")
    @classmethod
    def _is_plain_url(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                parts = urlsplit(value)
                is_port = parts.port != 0  # raises ValueError for what is none
                (parts.hostname or "").encode("idna")  # as names are looked up; UnicodeError is a ValueError
            except ValueError:
                raise ValueError("is no URL") from None
            if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc or not is_port:
                raise ValueError("must be http:// or https:// with a host, and no user or password in it")
            if parts.query or parts.fragment or any(not "!" <= char <= "~" for char in value):
                raise ValueError("must be ASCII without spaces, and end with its path, which is /v1 as a rule")
        return value

    @field_validator("openai_api_key")
    @classmethod
    def _fits_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        key = "" if value is None else value.get_secret_value()
        if not key.isascii() or any(not "!" <= char <= "~" for char in key):
            raise ValueError("must be printable ASCII without spaces")
        return value

    @model_validator(mode="after")
    def _openai_is_complete(self) -> Self:
        if "openai" in self.backends and not (self.openai_url and self.openai_model):
            raise ValueError("the openai backend needs GROUNDWIRE_OPENAI_URL and GROUNDWIRE_OPENAI_MODEL")
        return self
