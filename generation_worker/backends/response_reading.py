"""Reading one response of a chat completion: its text goes on as it comes, without what must not be seen."""

import asyncio
import codecs
from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx

from generation_worker.backends.backend import OnStep
from generation_worker.backends.chat_chunks import Chunk, ChunkError, chunk_of
from generation_worker.backends.chat_request import ChatRequest
from generation_worker.backends.event_stream import BrokenOffError, EventStreamError, events_of
from generation_worker.engine.protocol import GenerationDone, GenerationError, PromptPacked, TextPiece
from generation_worker.engine.text_filter import TextFilter

# More than any tokenizer packs into a token on average: who sends more does not heed the limit.
_MAX_CHARS_PER_TOKEN = 100
_AFTERWORD_TIMEOUT_S = 2.0


class ResponseReading:
    """One response being read; `has_begun` once anything of it was passed on."""

    def __init__(self, request: ChatRequest, stops: tuple[str, ...], on_step: OnStep) -> None:
        self._request = request
        self._filter = TextFilter(stops)
        # JSON may hold halves of surrogate pairs, one in this piece and one in the next; alone they are no text.
        self._pairs = codecs.getincrementaldecoder("utf-16-le")("replace")
        self._on_step = on_step
        self._piece_count = 0
        self._char_count = 0
        self._prompt_tokens: int | None = None
        self._completion_tokens: int | None = None
        self._is_whole = False
        self.has_begun = False

    async def read(self, chunks: AsyncIterator[bytes]) -> GenerationDone:
        """Read to the end.

        Raises:
            EventStreamError, ChunkError: it is malformed, too much, or breaks off.
            GenerationError: the other side will not write it, or wrote nothing that may be shown.
            httpx.HTTPError: the connection fails.
        """
        async with aclosing(events_of(chunks)) as events:
            async for data in events:
                if self._ends_with(data):
                    break
                if self._is_whole:
                    await self._read_afterword(events)
                    break
        if not self._is_whole:
            raise BrokenOffError
        self._tell(self._filter.feed(self._pairs.decode(b"", final=True)) + self._filter.finish())
        if not self.has_begun:
            raise GenerationError("The generator wrote no text.")
        return GenerationDone(
            self._piece_count if self._completion_tokens is None else self._completion_tokens,
            prompt_tokens=self._prompt_tokens,
        )

    def _ends_with(self, data: str) -> bool:
        """Take an event; say whether nothing after it is of interest."""
        if data.strip() == "[DONE]":
            self._is_whole = True
            return True
        chunk = chunk_of(data)
        if chunk.is_refusal:
            raise GenerationError(f"The generator ended the answer ({chunk.finish_reason}).")
        self._count(chunk)
        is_enough = bool(chunk.text) and self._is_enough(chunk.text)
        self._is_whole = is_enough or chunk.finish_reason is not None
        return is_enough

    async def _read_afterword(self, events: AsyncIterator[str]) -> None:
        """Read what it took, which may stand after the last text. However that fails, the text is whole."""
        try:
            async with asyncio.timeout(_AFTERWORD_TIMEOUT_S):
                async for data in events:
                    if data.strip() == "[DONE]":
                        return
                    self._count(chunk_of(data))
        except (httpx.HTTPError, EventStreamError, ChunkError, TimeoutError):
            return

    def _count(self, chunk: Chunk) -> None:
        if chunk.prompt_tokens is not None:
            self._prompt_tokens = chunk.prompt_tokens
        if chunk.completion_tokens is not None:
            self._completion_tokens = chunk.completion_tokens

    def _is_enough(self, text: str) -> bool:
        """Pass text on; say whether no more is wanted."""
        self._char_count += len(text)
        if self._char_count > self._request.max_completion_tokens * _MAX_CHARS_PER_TOKEN:
            raise EventStreamError("it has far more text than was asked for")
        shown = self._filter.feed(self._pairs.decode(text.encode("utf-16-le", "surrogatepass")))
        self._piece_count += bool(shown)  # thoughts have their own limit, if any
        self._tell(shown)
        return self._filter.is_stopped or self._piece_count > self._request.max_completion_tokens

    def _tell(self, text: str) -> None:
        if text:
            self._begin()
            self._on_step(TextPiece(text))

    def _begin(self) -> None:
        if not self.has_begun:
            self.has_begun = True
            self._on_step(PromptPacked(self._request.estimated_prompt_tokens, self._request.dropped_passage_indexes))
