"""The server's settings: one frozen object, read once from the environment. Nothing else reads the environment."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

MIN_FOCUS_CHARS = 100
"""Fewer characters than this are no passage."""


class ServerSettings(BaseSettings):
    """Each field is set by GROUNDWIRE_ and its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="GROUNDWIRE_", frozen=True, extra="ignore", env_ignore_empty=True)

    listen: str = "127.0.0.1:50051"
    metrics_listen: str | None = Field(
        default=None, description="HOST:PORT for Prometheus to scrape, below /metrics; nothing is told by default"
    )
    data_dir: Path = Path("data")
    snapshot_dir: Path | None = Field(default=None, description="default: snapshots in the data directory")
    follow_dir: Path | None = Field(
        default=None, description="serve the newest snapshots in this directory and take no writes; as --follow"
    )
    follow_interval_s: float = Field(default=1.0, gt=0, le=86_400)
    models_dir: Path | None = None
    redis_url: str = "redis://127.0.0.1:6379/0"
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    allow_insecure_listen: bool = Field(
        default=False, description="listen off loopback although this version has neither TLS nor tokens"
    )

    lexical_only: bool = Field(default=False, description="run without the encoder: BM25 alone, no vectors")
    encoder: Literal["minilm", "hashing"] = Field(
        default="minilm", description="hashing: hashed counts of terms, for which no model file is needed"
    )
    cross_encoder: Path | None = Field(
        default=None,
        description="an ONNX model, its tokenizer.json beside it, that orders the best candidates of each query anew",
    )
    remember_queries: bool = Field(
        default=True, description="keep the vectors of queries, and their results until the collection changes"
    )
    known_terms_bytes: int = Field(
        default=128 * 1024 * 1024,
        ge=0,
        description="memory for the index terms of passages, of all collections together; what is not in it is analysed"
        " again by each query that ranks it",
    )
    encoder_threads: int | None = Field(
        default=None, ge=1, le=1024, description="default: the cores this process may use"
    )
    max_message_bytes: int = Field(default=8 * 1024 * 1024, ge=64 * 1024, le=2**31 - 1)
    max_query_bytes: int = Field(default=8192, ge=16)
    max_k: int = Field(default=1000, ge=1)
    max_concurrent_rpcs: int = Field(default=64, ge=1)
    max_waiting_rpcs: int = Field(
        default=512,
        ge=1,
        description="answers, streams that their callers fill, and followed rebuilds, which wait more than they work;"
        " not in the above",
    )
    max_evaluations: int = Field(
        default=2, ge=1, description="evaluations and tunings at once, which compute for minutes; not in the above"
    )
    max_batch_in_flight: int = Field(default=32, ge=1)
    max_answers_in_flight: int = Field(
        default=128, ge=1, description="of one batch; what is above it waits unread, so it should keep all workers busy"
    )
    max_file_bytes: int = Field(default=4 * 1024 * 1024, ge=1024)
    max_line_chars: int = Field(default=100_000, ge=1000)
    sync_silence_timeout_s: float = Field(default=60.0, gt=0, le=86_400)
    reader_timeout_s: float = Field(
        default=300.0,
        gt=0,
        le=86_400,
        description="a stream ends when its caller reads too little to leave room for the next message so long;"
        " one that has nothing to send waits on",
    )
    document_request_ttl_s: float = Field(
        default=86_400.0, gt=0, le=31_536_000, description="how long a write's request_id is remembered"
    )
    drain_timeout_s: float = Field(default=10.0, ge=0, le=86_400)

    queue_partition_count: int = Field(default=1, ge=1, le=1024)
    max_queue_depth: int = Field(default=256, ge=1)
    max_queue_share: float = Field(
        default=0.75, gt=0, le=1, description="of the depth, what one caller may have waiting, and all batches together"
    )
    max_deliveries: int = Field(default=3, ge=1)
    lease_s: float = Field(default=10.0, ge=0.5, le=86_400, description="as the workers'")
    answer_ttl_s: float = Field(default=3600.0, ge=1, le=31_536_000)
    answer_cache_ttl_s: float = Field(
        default=3600.0, ge=0, le=31_536_000, description="how long generated answers serve equal questions; 0: never"
    )
    answer_cache_similarity: float | None = Field(
        default=None,
        ge=0.8,
        le=1,
        description="cosine from which a question shares the answer to another one over the same passages",
    )
    default_answer_timeout_s: float = Field(default=120.0, gt=0, le=86_400)
    max_answer_timeout_s: float = Field(default=3600.0, gt=0, le=86_400)
    default_prompt_tokens: int = Field(
        default=1792,
        ge=256,
        le=2**31 - 1,
        description="of a request that names no limit; the first token waits for all of them",
    )
    default_focus_chars: int = Field(
        default=700,
        ge=0,
        le=1_000_000,
        description="characters of the passages that the model reads, of a request that does not say, 100 or more;"
        " 0: whole ones",
    )
    condensing_method: Literal["rule", "model"] = Field(
        default="rule",
        description="what makes follow-ups stand by themselves, for requests that do not say; model: for larger ones",
    )
    condensing_timeout_s: float = Field(
        default=5.0, gt=0, le=86_400, description="longest wait for a model's; at most a quarter of the answer's time"
    )
    copy_bonus: float = Field(
        default=4.0,
        ge=0,
        le=100,
        description="logits that copying from the passages gains, and answers end with a paragraph: against the"
        " inventions of small models; 0 for larger ones",
    )
    prompt_context_tokens: int = Field(
        default=8192, ge=512, le=2**31 - 1, description="context of the generator that prompts are packed for"
    )

    @field_validator("default_focus_chars")
    @classmethod
    def _is_what_requests_may_ask_for(cls, value: int) -> int:
        if 0 < value < MIN_FOCUS_CHARS:
            raise ValueError(f"Input should be 0, or {MIN_FOCUS_CHARS} or more")
        return value


def problems_of(error: ValidationError) -> str:
    """Return in one line which variables are wrong and how."""
    return "; ".join(f"GROUNDWIRE_{'_'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in error.errors())
