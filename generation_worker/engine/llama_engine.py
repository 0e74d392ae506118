"""Answers by a local model through llama.cpp."""

from collections.abc import Callable, Iterator
from pathlib import Path

from generation_worker.engine.llama_model import MICRO_BATCH_TOKENS, LlamaModel, ModelUnusableError
from generation_worker.engine.prompt import STOPS, PackedPrompt, pack_prompt, prompt_start
from generation_worker.engine.protocol import GenerationDone, GenerationStep, PromptPacked, TextPiece
from generation_worker.engine.repetition import is_looping
from generation_worker.engine.text_filter import TextFilter
from generation_worker.engine.utf8 import Utf8Splitter
from groundwire.internal.v1 import job_pb2

DEFAULT_COMPLETION_TOKENS = 256


class LlamaEngine:
    """An Engine over one GGUF model that speaks ChatML. The same job gives the same text every time."""

    def __init__(self, path: Path, *, model: str, context_tokens: int, thread_count: int) -> None:
        """Load the model and compute what all prompts begin with.

        Raises:
            ModelUnusableError: the file is missing, no GGUF, or of a model that does not speak ChatML.
        """
        self._model_name = model
        self._llama = LlamaModel(path, context_tokens=context_tokens, thread_count=thread_count)
        if len(self._llama.scaffold_tokens("<|im_start|>")) != 1:
            raise ModelUnusableError(f"{path} is not a chat model with ChatML turns (it has no <|im_start|> token)")
        # The same batches for every job: were the shared beginning computed together with whatever followed it last
        # time, rounding would differ and the likeliest token with it.
        self._start_tokens = prompt_start(self._llama)
        self._llama.compute(self._start_tokens)

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._model_name

    @property
    def context_tokens(self) -> int:
        """Tokens of prompt and completion together."""
        return self._llama.context_tokens

    def generate(self, job: job_pb2.GenerationJob, should_stop: Callable[[], bool]) -> Iterator[GenerationStep]:
        """See Engine."""
        completion_tokens = job.max_completion_tokens or DEFAULT_COMPLETION_TOKENS
        budget_tokens = self.context_tokens - min(completion_tokens, self.context_tokens // 2)
        if job.max_prompt_tokens > 0:
            budget_tokens = min(budget_tokens, job.max_prompt_tokens)
        prompt = pack_prompt(self._llama, job.question, job.passages, budget_tokens)
        yield PromptPacked(len(prompt.tokens), prompt.dropped_passage_indexes)
        if not self._prefill(prompt, should_stop):
            return
        yield from self._complete(min(completion_tokens, self.context_tokens - len(prompt.tokens)), should_stop)

    def _prefill(self, prompt: PackedPrompt, should_stop: Callable[[], bool]) -> bool:
        self._llama.forget_after(len(self._start_tokens))
        for begin in range(len(self._start_tokens), len(prompt.tokens), MICRO_BATCH_TOKENS):
            if should_stop():
                return False
            self._llama.compute(prompt.tokens[begin : begin + MICRO_BATCH_TOKENS])
        return True

    def _complete(self, max_tokens: int, should_stop: Callable[[], bool]) -> Iterator[GenerationStep]:
        splitter, text_filter = Utf8Splitter(), TextFilter(STOPS)
        tokens: list[int] = []
        while not should_stop():
            token = self._llama.next_token()
            if self._llama.is_end(token):
                break
            tokens.append(token)
            if text := text_filter.feed(splitter.feed(self._llama.piece(token))):
                yield TextPiece(text)
            if text_filter.is_stopped or len(tokens) >= max_tokens or is_looping(tokens):
                break
            self._llama.compute((token,))
        else:
            return
        if text := text_filter.feed(splitter.finish()) + text_filter.finish():
            yield TextPiece(text)
        yield GenerationDone(len(tokens))
