"""Generated answers by what decides them, so that an equal question over equal passages costs no second generation.

What decides an answer is the question, the passages, the generator and the parameters; where chance has a say, nothing
is kept. A question that is nearly the same may share an answer as well, when that is asked for: only over the same
passages, and never with a contrary one.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import cast

from google.protobuf.message import DecodeError
from redis.asyncio import Redis

from groundwire import __version__
from groundwire.internal.v1 import job_pb2
from groundwire.queue import scripts
from groundwire.queue.keys import partition_of
from groundwire.v1 import answer_pb2
from retrieval_server.generation.questions.near_questions import may_share_an_answer

Similarities = Callable[[str, list[str]], Awaitable[list[float]]]
"""Cosines of a question with others."""

_MAX_NEAR_COUNT = 32


@dataclass(frozen=True, slots=True)
class NearQuestions:
    """How near a question must be to share another one's answer."""

    similarities: Similarities
    threshold: float


@dataclass(frozen=True, slots=True)
class Asked:
    """What decides an answer but the generator: `digest` of all of it, `bucket` of all but the question's wording."""

    question: str
    digest: bytes
    bucket: bytes


def is_determined(job: job_pb2.GenerationJob) -> bool:
    """Return whether a job has one answer: one that is sampled has many, unless the caller chose a seed."""
    return job.temperature <= 0 or job.HasField("seed")


def asked_by(job: job_pb2.GenerationJob) -> Asked:
    """Return what decides the answer of a job: not who asks, when, and under which id."""
    copied = job_pb2.GenerationJob()
    copied.CopyFrom(job)
    for name in ("job_id", "deadline", "traceparent", "caller", "priority", "generate_anew"):
        copied.ClearField(name)
    if job.mode == answer_pb2.ANSWER_MODE_STUFF:
        # One prompt holds them all, whatever their scores were.
        for passage in copied.passages:
            for name in ("score", "list_scores", "priors"):
                passage.ClearField(name)  # type: ignore[arg-type]
    digest = _sha256(copied)
    if job.mode == answer_pb2.ANSWER_MODE_STUFF:
        # In the other modes an answer says what each passage counted, by their order.
        passages = sorted(copied.passages, key=lambda passage: (passage.path, passage.start_char, passage.end_char))
        copied.ClearField("passages")
        copied.passages.extend(passages)
    copied.question = ""
    return Asked(job.question, digest, _sha256(copied))


class AnswerCache:
    """Answers in Redis, for `ttl_s` after they were made; methods raise RedisError."""

    def __init__(self, redis: Redis, partition_count: int, *, ttl_s: float, near: NearQuestions | None) -> None:
        self._redis = redis
        self._partition_count = partition_count
        self._ttl_ms = round(ttl_s * 1000)
        self._near = near

    async def find(self, asked: Asked, identities: Iterable[str]) -> job_pb2.CachedAnswer | None:
        """Return the answer that one of the generators gave to an equal job, or to a near one if that is asked for.

        `identities` are those that workers tell of themselves; an empty one stands for none.
        """
        for identity in sorted({*identities} - {""}):
            answer = await self._get(self._key("answer", identity, asked.digest))
            if answer is None and self._near is not None:
                answer = await self._find_near(self._near, asked, identity)
            if answer is not None:
                return answer
        return None

    async def keep(self, asked: Asked, ended: job_pb2.JobEnded) -> None:
        """Keep the answer that a job ended with, if it is known which generator gave it."""
        identity = ended.generator_identity
        if not identity:
            return
        key = self._key("answer", identity, asked.digest)
        answer = job_pb2.CachedAnswer(
            text=ended.text, generator=ended.generator, ignores_answer_start=ended.ignores_answer_start
        )
        await self._redis.set(key, answer.SerializeToString(), px=self._ttl_ms)
        if self._near is not None:
            bucket = self._key("near", identity, asked.bucket)
            await scripts.NOTE_NEAR.run(self._redis, (bucket,), asked.question, key, _MAX_NEAR_COUNT, self._ttl_ms)

    async def _find_near(self, near: NearQuestions, asked: Asked, identity: str) -> job_pb2.CachedAnswer | None:
        stored = await cast(
            "Awaitable[dict[bytes, bytes]]", self._redis.hgetall(self._key("near", identity, asked.bucket))
        )
        key_of = {question.decode(): key.decode() for question, key in stored.items()}
        others = [question for question in key_of if may_share_an_answer(asked.question, question)]
        if not others:
            return None
        similarities = await near.similarities(asked.question, others)
        best, question = max(zip(similarities, others, strict=True))
        return await self._get(key_of[question]) if best >= near.threshold else None

    async def _get(self, key: str) -> job_pb2.CachedAnswer | None:
        stored = await self._redis.get(key)
        if stored is None:
            return None
        try:
            return job_pb2.CachedAnswer.FromString(cast("bytes", stored))
        except DecodeError:
            return None  # of another version

    def _key(self, kind: str, identity: str, digest: bytes) -> str:
        # Another version may prompt, sample or cut in another way.
        name = hashlib.sha256(f"{__version__}\0{identity}\0".encode() + digest).hexdigest()
        return f"gw:{{{partition_of(name, self._partition_count).partition}}}:{kind}:{name}"


def _sha256(job: job_pb2.GenerationJob) -> bytes:
    return hashlib.sha256(job.SerializeToString(deterministic=True)).digest()
