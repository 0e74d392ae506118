"""Choosing the next token of one generation."""

from typing import Any

import llama_cpp

from generation_worker.decoding.copying import CopyBonus
from groundwire.internal.v1 import job_pb2

REPEAT_PENALTY = 1.1
REPEAT_WINDOW_TOKENS = 64
MAX_TEMPERATURE = 2.0


class Sampler:
    """The likeliest token, or a drawn one when the job sets a temperature; the last tokens a little less likely."""

    def __init__(self, vocab_token_count: int, job: job_pb2.GenerationJob, copying: CopyBonus | None = None) -> None:
        self._copying = copying
        self._chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
        self._add(
            llama_cpp.llama_sampler_init_penalties(vocab_token_count, REPEAT_WINDOW_TOKENS, REPEAT_PENALTY, 0.0, 0.0)
        )
        if job.temperature > 0:
            if job.HasField("top_p"):
                self._add(llama_cpp.llama_sampler_init_top_p(min(max(job.top_p, 0.0), 1.0), 1))
            self._add(llama_cpp.llama_sampler_init_temp(min(job.temperature, MAX_TEMPERATURE)))
            self._add(llama_cpp.llama_sampler_init_dist(job.seed & 0xFFFFFFFF))
        else:
            self._add(llama_cpp.llama_sampler_init_greedy())

    def _add(self, stage: Any) -> None:
        llama_cpp.llama_sampler_chain_add(self._chain, stage)

    def choose(self, context: Any, row: int) -> int:
        """Return the next token after row `row` of the last batch, and remember it as one of the last."""
        if self._copying is None:
            return int(llama_cpp.llama_sampler_sample(self._chain, context, row))
        logits = llama_cpp.llama_get_logits_ith(context, row)
        for token, gain in self._copying.gains().items():
            logits[token] += gain
        token = int(llama_cpp.llama_sampler_sample(self._chain, context, row))
        self._copying.accept(token)
        return token

    def close(self) -> None:
        """Free it; not to be used any more."""
        llama_cpp.llama_sampler_free(self._chain)
