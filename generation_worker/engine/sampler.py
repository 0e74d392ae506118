"""Choosing the next token of one generation from its logits."""

from typing import Any

import llama_cpp

from groundwire.internal.v1 import job_pb2

MIN_TEMPERATURE = 0.001
"""Below it the likeliest token is chosen: that is what would be drawn, and logits divided by less may be infinite."""
MAX_TEMPERATURE = 2.0


class Sampler:
    """The likeliest token, or a drawn one when the job sets a temperature."""

    def __init__(self, job: job_pb2.GenerationJob) -> None:
        self._chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
        if job.temperature >= MIN_TEMPERATURE:
            if job.HasField("top_p"):
                self._add(llama_cpp.llama_sampler_init_top_p(min(max(job.top_p, 0.0), 1.0), 1))
            self._add(llama_cpp.llama_sampler_init_temp(min(job.temperature, MAX_TEMPERATURE)))
            self._add(llama_cpp.llama_sampler_init_dist(job.seed & 0xFFFFFFFF))
        else:
            self._add(llama_cpp.llama_sampler_init_greedy())

    def _add(self, stage: Any) -> None:
        llama_cpp.llama_sampler_chain_add(self._chain, stage)

    def choose(self, context: Any, row: int) -> int:
        """Return the next token after row `row` of the last batch."""
        return int(llama_cpp.llama_sampler_sample(self._chain, context, row))

    def close(self) -> None:
        """Free it; not to be used any more."""
        llama_cpp.llama_sampler_free(self._chain)
