"""llama.cpp by its C interface: one model, one context, greedy. To be used from one thread at a time."""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llama_cpp

from generation_worker.engine.fast_weights import fast_weights

GGUF_MAGIC = b"GGUF"
FLASH_ATTENTION_ENABLED = 1
MICRO_BATCH_TOKENS = 256
"""Tokens that are computed at once: between these batches a generation can be stopped."""
REPEAT_PENALTY = 1.1
REPEAT_WINDOW_TOKENS = 64
_LOG_LEVEL_ERROR = 4

_last_errors: list[str] = []


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_errors(level: int, text: bytes, _user_data: object) -> None:
    # llama.cpp tells much about each load; only why it failed is wanted, and that in our own message.
    if level == _LOG_LEVEL_ERROR:
        _last_errors.append(text.decode(errors="replace").strip())
        del _last_errors[:-4]


class ModelUnusableError(Exception):
    """A model file that cannot be used; the message is one line."""


class ComputeError(Exception):
    """llama.cpp could not compute a batch."""


class LlamaModel:
    """A loaded GGUF file with a context of its own."""

    def __init__(self, path: Path, *, context_tokens: int, thread_count: int) -> None:
        """Load it.

        Raises:
            ModelUnusableError: there is no such file, or it is no model that can be used here.
        """
        _check_is_gguf(path)
        llama_cpp.llama_log_set(_keep_errors, ctypes.c_void_p(0))
        _last_errors.clear()
        llama_cpp.llama_backend_init()
        self._model = _load(path)
        with fast_weights(path, self._model) as faster:
            if faster is not None:
                llama_cpp.llama_model_free(self._model)
                self._model = _load(faster)
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self.context_tokens: int = min(context_tokens, llama_cpp.llama_model_n_ctx_train(self._model))
        self._context = llama_cpp.llama_init_from_model(self._model, self._context_params(thread_count))
        if not self._context:
            raise ModelUnusableError(f"{path}: no memory for a context of {self.context_tokens} tokens")
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._sampler = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
        vocab_size = llama_cpp.llama_vocab_n_tokens(self._vocab)
        llama_cpp.llama_sampler_chain_add(
            self._sampler,
            llama_cpp.llama_sampler_init_penalties(vocab_size, REPEAT_WINDOW_TOKENS, REPEAT_PENALTY, 0.0, 0.0),
        )
        llama_cpp.llama_sampler_chain_add(self._sampler, llama_cpp.llama_sampler_init_greedy())

    def _context_params(self, thread_count: int) -> Any:
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = self.context_tokens
        params.n_batch = params.n_ubatch = MICRO_BATCH_TOKENS
        params.n_threads = params.n_threads_batch = thread_count
        # Measured on 2 cores with 1,600 tokens: as fast as without or faster, and a smaller compute buffer; a
        # quantised cache costs 40 % of the speed.
        params.flash_attn_type = FLASH_ATTENTION_ENABLED
        params.no_perf = True
        return params

    def scaffold_tokens(self, text: str) -> list[int]:
        """Return the tokens of text of our own, in which `<|im_end|>` and its like have their meaning."""
        return self._tokenize(text, with_special=True)

    def content_tokens(self, text: str) -> list[int]:
        """Return the tokens of others' text, in which nothing has a meaning."""
        return self._tokenize(text, with_special=False)

    def _tokenize(self, text: str, *, with_special: bool) -> list[int]:
        data = text.encode()
        room = len(data) + 8
        tokens = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(self._vocab, data, len(data), tokens, room, False, with_special)
        if count < 0:
            raise ComputeError(f"the text has more tokens ({-count}) than bytes")
        return list(tokens[:count])

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token; nothing for a special one."""
        room = 64
        while True:
            buffer = ctypes.create_string_buffer(room)
            length = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, room, 0, False)
            if length >= 0:
                return buffer.raw[:length]
            room = -length

    def is_end(self, token: int) -> bool:
        """Say whether a token ends the generation."""
        return bool(llama_cpp.llama_vocab_is_eog(self._vocab, token))

    def forget_after(self, token_count: int) -> None:
        """Keep the first `token_count` tokens of what was computed, forget the rest and what was sampled."""
        if not llama_cpp.llama_memory_seq_rm(self._memory, 0, token_count, -1):
            raise ComputeError("llama.cpp cannot take back what it computed")
        llama_cpp.llama_sampler_reset(self._sampler)

    def compute(self, tokens: Sequence[int]) -> None:
        """Continue the sequence with at most MICRO_BATCH_TOKENS tokens."""
        batch = (llama_cpp.llama_token * len(tokens))(*tokens)
        status = llama_cpp.llama_decode(self._context, llama_cpp.llama_batch_get_one(batch, len(tokens)))
        if status != 0:
            raise ComputeError(f"llama_decode returned {status} for {len(tokens)} tokens")

    def next_token(self) -> int:
        """Return the likeliest next token, those of the last tokens made a little less likely."""
        return int(llama_cpp.llama_sampler_sample(self._sampler, self._context, -1))


def _load(path: Path) -> Any:
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = 0
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
    if not model:
        why = "; ".join(_last_errors[:1]) or "no reason given"
        raise ModelUnusableError(f"{path} cannot be loaded by llama.cpp ({why})")
    return model


def _check_is_gguf(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise ModelUnusableError(f"{path} cannot be read: {error.strerror}") from error
    if magic != GGUF_MAGIC:
        raise ModelUnusableError(f"{path} is not a GGUF model file")
