"""A model behind an OpenAI-compatible HTTP interface: hosted ones, vLLM, Ollama, llama.cpp's server."""

import asyncio
import itertools
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from math import inf
from typing import NoReturn, cast

import httpx
import structlog

from generation_worker.backends.backend import BackendUnavailableError, GenerationStopped, OnStep
from generation_worker.backends.chat_chunks import ChunkError
from generation_worker.backends.chat_request import ChatRequest, chat_request
from generation_worker.backends.event_stream import BrokenOffError, EventStreamError
from generation_worker.backends.response_reading import ResponseReading
from generation_worker.backends.retrying import Tries, retry_after_s, unix_s
from generation_worker.engine.protocol import (
    GenerationDone,
    GenerationError,
    GenerationFailed,
    GenerationStep,
)
from generation_worker.generator_identity import identity_of
from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2

log = structlog.get_logger()

_CONNECT_TIMEOUT_S = 5.0
_SEND_TIMEOUT_S = 10.0
_MAX_TOLD_BYTES = 2048
_TELLING_TIMEOUT_S = 2.0
_MIN_PATIENCE_S = 1.0
_WRONG_REQUEST = frozenset((400, 413, 422))
_TOO_MUCH = 429
_SERVER_FAULT = 500


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """Where a model is asked, and how; `extra` are fields of the request's body that go before our own."""

    url: str
    model: str
    api_key: str | None
    context_tokens: int
    silence_timeout_s: float
    extra: Mapping[str, object]


class _TryAgainError(Exception):
    """Nothing was written yet, and another try may do better."""

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class OpenAiBackend:
    """A Backend. A request that fails before its first text is tried again, at most twice; after that it is over.

    The key goes into the header of requests to that address and nowhere else: redirects are not followed, and what the
    other side says of an error reaches the log alone, the key struck out.
    """

    name = "openai"
    modes: Collection[answer_pb2.AnswerMode.ValueType] = (answer_pb2.ANSWER_MODE_STUFF,)
    continues_answers = False

    def __init__(self, remote: RemoteModel, *, slot_count: int) -> None:
        """Connect when first used."""
        self.model = remote.model
        self.identity = identity_of(
            self.name,
            {
                "url": remote.url,
                "model": remote.model,
                "context_tokens": remote.context_tokens,
                "extra": dict(remote.extra),
            },
        )
        self.context_tokens = remote.context_tokens
        self.slot_count = slot_count
        self._remote = remote
        self._url = f"{remote.url.rstrip('/')}/chat/completions"
        self._keys = itertools.count(1)
        self._tasks: dict[int, asyncio.Task[GenerationDone]] = {}
        self._is_closed = False
        headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
        if remote.api_key is not None:
            headers["Authorization"] = f"Bearer {remote.api_key}"
        self._client = httpx.AsyncClient(
            headers=headers,
            limits=httpx.Limits(max_connections=slot_count, max_keepalive_connections=slot_count),
            # What it sets would pile up, and tie the questions of all callers together.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            # Settings alone say where to connect: an http_proxy meant for others would be asked for loopback as well.
            trust_env=False,
        )

    def slots_for(self, job: job_pb2.GenerationJob) -> int:  # noqa: ARG002
        """See Backend."""
        return 1

    def start(self, job: job_pb2.GenerationJob, on_step: OnStep) -> int:
        """See Backend."""
        key = next(self._keys)
        self._tasks[key] = task = asyncio.create_task(self._generate(job, on_step))
        task.add_done_callback(lambda ended: self._end(key, ended, on_step))
        return key

    def stop(self, key: int) -> None:
        """See Backend; the connection is closed, which tells the other side to stop as well."""
        if task := self._tasks.get(key):
            task.cancel()

    async def close(self) -> None:
        """See Backend."""
        self._is_closed = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.aclose()

    def _end(self, key: int, ended: asyncio.Task[GenerationDone], on_step: OnStep) -> None:
        del self._tasks[key]
        last: GenerationStep | GenerationStopped = GenerationStopped()
        if not ended.cancelled():
            error = ended.exception()
            last = ended.result() if error is None else GenerationFailed(cast("Exception", error))
        if not self._is_closed:
            on_step(last)

    async def _generate(self, job: job_pb2.GenerationJob, on_step: OnStep) -> GenerationDone:
        request = chat_request(job, model=self.model, context_tokens=self.context_tokens, extra=self._remote.extra)
        reading_of_a_try = partial(ResponseReading, request, tuple(stop for stop in job.stops if stop), on_step)
        tries = Tries()
        while True:
            patience_s = min(self._remote.silence_timeout_s, _longest_wait_s(job))
            try:
                return await self._try(request, reading_of_a_try(), patience_s)
            except _TryAgainError as failure:
                wait_s = tries.wait_s(failure.wait_s)
                if wait_s is None or wait_s > _longest_wait_s(job):
                    raise BackendUnavailableError(str(failure)) from None
                log.info("request tried again", backend=self.name, error=str(failure), wait_s=round(wait_s, 2))
            await asyncio.sleep(wait_s)

    async def _try(self, request: ChatRequest, reading: ResponseReading, patience_s: float) -> GenerationDone:
        timeout = httpx.Timeout(
            patience_s, connect=min(_CONNECT_TIMEOUT_S, patience_s), write=min(_SEND_TIMEOUT_S, patience_s)
        )
        try:
            async with self._client.stream("POST", self._url, json=dict(request.body), timeout=timeout) as response:
                await self._check(response)
                return await reading.read(response.aiter_raw())
        except (httpx.ReadTimeout, httpx.WriteTimeout):
            raise BackendUnavailableError(f"the {self.name} backend was silent for {patience_s:.3g} s") from None
        except httpx.HTTPError as error:
            message = f"the {self.name} backend's connection failed ({type(error).__name__})"
            if reading.has_begun or not isinstance(error, httpx.TransportError):
                raise BackendUnavailableError(message) from None
            raise _TryAgainError(message) from None
        except (httpx.InvalidURL, UnicodeError):
            raise BackendUnavailableError(f"the {self.name} backend's address cannot be used") from None
        except BrokenOffError as error:
            message = f"the {self.name} backend's answer broke off"
            raise (BackendUnavailableError(message) if reading.has_begun else _TryAgainError(message)) from error
        except (EventStreamError, ChunkError) as error:
            raise BackendUnavailableError(f"the {self.name} backend answered with nonsense: {error}") from None

    async def _check(self, response: httpx.Response) -> None:
        """Return if this is a stream of events; raise what is to be done about anything else."""
        if response.status_code != httpx.codes.OK:
            await self._refuse(response)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        encoding = response.headers.get("content-encoding", "identity").lower()
        if kind != "text/event-stream" or encoding != "identity":
            raise EventStreamError("it is no stream of events" if encoding == "identity" else "it is compressed")

    async def _refuse(self, response: httpx.Response) -> NoReturn:
        status = response.status_code
        log.warning("request refused", backend=self.name, status=status, told=await self._told(response))
        message = f"the {self.name} backend refused the request (HTTP {status})"
        if status in _WRONG_REQUEST:
            raise GenerationError(f"{message[0].upper()}{message[1:]}.")
        if status == _TOO_MUCH or status >= _SERVER_FAULT:
            now_s = unix_s(response.headers.get("date"))  # by the same clock
            raise _TryAgainError(message, retry_after_s(response.headers.get("retry-after"), now_s=now_s))
        raise BackendUnavailableError(message)

    async def _told(self, response: httpx.Response) -> str:
        """Return the beginning of what an error's response says, without the key."""
        key = self._remote.api_key or ""
        body = b""
        # The status says what to do; nobody waits long for its reason.
        with suppress(httpx.HTTPError, TimeoutError):
            async with asyncio.timeout(_TELLING_TIMEOUT_S):
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) > _MAX_TOLD_BYTES + len(key):  # a part of the key would not be recognised
                        break
        told = body[: _MAX_TOLD_BYTES + len(key)].decode(errors="replace")
        return (told.replace(key, "***") if key else told)[:_MAX_TOLD_BYTES]


def _longest_wait_s(job: job_pb2.GenerationJob) -> float:
    """Return how long nothing may come for a job: never until its time is over, so that another can stand in."""
    if not job.HasField("deadline"):
        return inf
    return max((job.deadline.ToNanoseconds() / 1e9 - time.time()) / 2, _MIN_PATIENCE_S)
