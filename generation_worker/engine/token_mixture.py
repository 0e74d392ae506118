"""RAG-Token (arXiv:2005.11401, 2.1): one text, each token of it chosen from the mixture over all passages' prompts."""

from collections.abc import Sequence

import numpy as np

from generation_worker.decoding.marginals import Logs, log_softmax, passage_posterior, token_marginal
from generation_worker.engine.branch import Branch
from generation_worker.engine.generation import told
from generation_worker.engine.llama_model import LlamaModel
from generation_worker.engine.protocol import GenerationDone, GenerationStep, PassageWeight
from generation_worker.engine.writer import Writer


class TokenMixture:
    """A branch for each passage; all of them go on with the same tokens."""

    later_tokens = 0

    def __init__(self, llama: LlamaModel, branches: Sequence[Branch], writer: Writer, log_p_passages: Logs) -> None:
        """`log_p_passages` is (k,): a log probability for each branch's passage."""
        self.branches = branches
        self._llama = llama
        self._writer = writer
        self._log_p_passages = log_p_passages
        self._log_p_next: dict[Branch, Logs] = {}
        self._posterior_sum = np.zeros(len(branches))

    def take(self, branch: Branch, position: int, row: int) -> Sequence[GenerationStep]:  # noqa: ARG002
        """See Generation. Nothing is chosen before the logits of all branches are there."""
        logits = self._llama.logits(row)
        branch.preferences.apply(logits)
        self._log_p_next[branch] = log_softmax(logits)
        if len(self._log_p_next) < len(self.branches):
            return ()
        log_p_next = np.stack([self._log_p_next.pop(one) for one in self.branches])
        logits[:] = token_marginal(log_p_next, self._log_p_passages)
        text = self._writer.write(row)
        chosen = self._writer.tokens[-1]
        self._posterior_sum += np.exp(passage_posterior(log_p_next[:, chosen], self._log_p_passages))
        steps = told(self._writer, text, self.branches)
        return [self._weighed(step) if isinstance(step, GenerationDone) else step for step in steps]

    def close(self) -> None:
        """See Generation."""
        self._writer.close()

    def _weighed(self, done: GenerationDone) -> GenerationDone:
        posteriors = self._posterior_sum / len(self._writer.tokens)
        weights = zip(np.exp(self._log_p_passages).tolist(), posteriors.tolist(), strict=True)
        return GenerationDone(done.completion_tokens, tuple(PassageWeight(*weight) for weight in weights))
