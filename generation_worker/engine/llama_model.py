"""llama.cpp by its C interface: one model, one context of several sequences. To be used from one thread at a time."""

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from generation_worker.chat_template.rendering import ChatTemplateError
from generation_worker.engine.fast_weights import fast_weights
from generation_worker.engine.interrupt_flag import interrupt_flag
from generation_worker.engine.model_frames import model_frames
from generation_worker.engine.model_unusable import ModelUnusableError
from generation_worker.engine.step_size import MAX_STEP_TOKENS, lone_step_tokens, step_tokens

GGUF_MAGIC = b"GGUF"
_FLASH_ATTENTION_AUTO, _FLASH_ATTENTION_OFF = -1, 0
_CONTEXT_GRAIN_TOKENS = 256  # llama.cpp rounds each context to a multiple of it
_LOG_LEVEL_ERROR = 4
_DECODE_ABORTED = 2

_last_errors: list[str] = []


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_errors(level: int, text: bytes, _user_data: object) -> None:
    # llama.cpp tells much about each load; only why it failed is wanted, and that in our own message.
    if level == _LOG_LEVEL_ERROR:
        _last_errors.append(text.decode(errors="replace").strip())
        del _last_errors[:-4]


class ComputeError(Exception):
    """llama.cpp could not compute a batch."""


class ComputeInterrupted(Exception):
    """A batch was given up because of LlamaModel.interrupt; some of its rows may have been computed."""


@dataclass(frozen=True, slots=True)
class Row:
    """A token to compute as number `position` of sequence `sequence`; `wants_next` if one is to be chosen after it."""

    token: int
    position: int
    sequence: int
    wants_next: bool


class LlamaModel:
    """A loaded GGUF file with a context of its own, which holds several sequences of tokens."""

    def __init__(
        self,
        path: Path,
        *,
        context_tokens: int,
        sequence_count: int,
        thread_count: int,
        gpu_layer_count: int = 0,
    ) -> None:
        """Load it; `context_tokens` is for each sequence.

        Raises:
            ModelUnusableError: there is no such file, or it is no model that can be used here.
        """
        _check_is_gguf(path)
        llama_cpp.llama_log_set(_keep_errors, ctypes.c_void_p(0))
        _last_errors.clear()
        llama_cpp.llama_backend_init()
        self._model = _load(path, gpu_layer_count)
        if gpu_layer_count == 0:
            with fast_weights(path, self._model) as faster:
                if faster is not None:
                    llama_cpp.llama_model_free(self._model)
                    self._model = _load(faster, gpu_layer_count)
        if llama_cpp.llama_model_is_recurrent(self._model) or llama_cpp.llama_model_is_hybrid(self._model):
            raise ModelUnusableError(
                f"{path}: a recurrent model cannot take back what it has read, which is needed here"
            )
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        try:
            self.chat_frames = model_frames(self._model, self._vocab)
        except ChatTemplateError as error:
            raise ModelUnusableError(f"{path}: {error}") from None
        turn_end = self.scaffold_tokens(self.chat_frames.turn_end)[:1]
        is_special = turn_end and llama_cpp.llama_vocab_is_control(self._vocab, turn_end[0])
        self._turn_end = turn_end[0] if is_special else None
        self.vocab_token_count: int = llama_cpp.llama_vocab_n_tokens(self._vocab)
        self.context_tokens: int = min(context_tokens, llama_cpp.llama_model_n_ctx_train(self._model))
        parameter_count = llama_cpp.llama_model_n_params(self._model)
        self.step_tokens = (
            MAX_STEP_TOKENS if gpu_layer_count else step_tokens(parameter_count, thread_count, sequence_count)
        )
        self.lone_step_tokens = lone_step_tokens(self.step_tokens)
        batch_tokens = self.lone_step_tokens + sequence_count
        params = _context_params(
            self.context_tokens, sequence_count, batch_tokens, thread_count, on_gpu=gpu_layer_count != 0
        )
        self.context = llama_cpp.llama_init_from_model(self._model, params)
        if not self.context:
            raise ModelUnusableError(
                f"{path}: no memory for {sequence_count} contexts of {self.context_tokens} tokens; "
                "fewer GROUNDWIRE_WORKER_SLOTS or GROUNDWIRE_WORKER_CONTEXT_TOKENS take less"
            )
        self._memory = llama_cpp.llama_get_memory(self.context)
        self._batch = llama_cpp.llama_batch_init(batch_tokens, 0, 1)
        self._interrupt = interrupt_flag(self.context)

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
        """Say whether a token ends the generation: by the model's file, or as its chat template ends an answer."""
        return token == self._turn_end or bool(llama_cpp.llama_vocab_is_eog(self._vocab, token))

    def keep_only(self, sequence: int, token_count: int) -> None:
        """Forget all but the first `token_count` tokens of a sequence."""
        if not llama_cpp.llama_memory_seq_rm(self._memory, sequence, token_count, -1):
            raise ComputeError("llama.cpp cannot take back what it computed")

    def copy(self, source: int, target: int) -> None:
        """Make one sequence the same as another, whatever it was."""
        llama_cpp.llama_memory_seq_cp(self._memory, source, target, -1, -1)

    def forget_all(self) -> None:
        """Empty every sequence."""
        llama_cpp.llama_memory_clear(self._memory, False)

    def compute(self, rows: Sequence[Row]) -> None:
        """Continue sequences: at most `lone_step_tokens` rows and one for each sequence; those of a sequence in order.

        Raises:
            ComputeInterrupted: `interrupt` was called since the last interruption.
            ComputeError: llama.cpp could not; what the sequences hold now is unknown.
        """
        batch = self._batch
        for index, row in enumerate(rows):
            batch.token[index] = row.token
            batch.pos[index] = row.position
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = row.sequence
            batch.logits[index] = row.wants_next
        batch.n_tokens = len(rows)
        status = llama_cpp.llama_decode(self.context, batch)
        if status == _DECODE_ABORTED:
            self._interrupt.value = b""
            raise ComputeInterrupted
        if status != 0:
            raise ComputeError(f"llama_decode returned {status} for {len(rows)} tokens")

    def logits(self, row: int) -> NDArray[np.float32]:
        """Return the logits after row `row` of the last batch, (vocab_token_count,) float32, until the next `compute`.

        They are llama.cpp's own: what is changed in them is what the sampler sees.
        """
        found = llama_cpp.llama_get_logits_ith(self.context, row)
        return np.ctypeslib.as_array(found, (self.vocab_token_count,))

    def interrupt(self) -> None:
        """Make `compute`, the one going on or else the next, end at once. May be called from any thread."""
        self._interrupt.value = b"!"


def _context_params(
    context_tokens: int, sequence_count: int, batch_tokens: int, thread_count: int, *, on_gpu: bool
) -> Any:
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = sequence_count * -(-context_tokens // _CONTEXT_GRAIN_TOKENS) * _CONTEXT_GRAIN_TOKENS
    params.n_seq_max = sequence_count
    # Each sequence has its own part of the cache. In a shared one every token is compared with the places of all
    # sequences, if only to find that they are others': measured with 8 prompts of 1,000 tokens, reading them costs a
    # third more, and what is written with 16 of 150 tokens a fifth more.
    params.kv_unified = False
    params.n_batch = params.n_ubatch = batch_tokens
    params.n_threads = params.n_threads_batch = thread_count
    # Flash attention adds up in another order for one token than for several: on a CPU nothing but it makes the same
    # prompt's logits depend on what is computed beside it (measured: by up to 0.6; without it by nothing at all). It
    # gains nothing here: 1,536 tokens of prompt are read a tenth slower, written tokens come 5 % faster.
    params.flash_attn_type = _FLASH_ATTENTION_AUTO if on_gpu else _FLASH_ATTENTION_OFF
    params.no_perf = True
    return params


def _load(path: Path, gpu_layer_count: int) -> Any:
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = gpu_layer_count
    model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
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
