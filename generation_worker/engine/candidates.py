"""RAG-Sequence (arXiv:2005.11401, 2.1) with thorough decoding (2.5).

A candidate text is written from each passage's prompt and scored under every passage; the likeliest with all of them
is the answer.
"""

from collections.abc import Sequence

import numpy as np

from generation_worker.decoding.marginals import Logs, best_sequence, log_softmax, passage_posterior
from generation_worker.engine.branch import Branch
from generation_worker.engine.llama_model import LlamaModel
from generation_worker.engine.protocol import GenerationDone, GenerationStep, PassageWeight, TextPiece
from generation_worker.engine.writer import Writer


class Candidates:
    """A branch and a writer for each passage; first all write, then all read what any has written."""

    def __init__(
        self, llama: LlamaModel, branches: Sequence[Branch], writers: Sequence[Writer], log_p_passages: Logs
    ) -> None:
        """`log_p_passages` is (k,): a log probability for each branch's passage."""
        self.branches = branches
        self._llama = llama
        self._writers = writers
        self._log_p_passages = log_p_passages
        self._texts = [""] * len(branches)
        self._candidates: list[tuple[int, ...]] = []
        # [candidate][passage][token], filled in the order of the tokens.
        self._log_p_tokens: list[list[list[float]]] = []

    @property
    def later_tokens(self) -> int:
        """See Generation: the candidates that each branch has not begun with."""
        return sum(
            len(later)
            for earlier, later, scores in zip(self._candidates, self._candidates[1:], self._log_p_tokens, strict=False)
            for of_passage in scores
            if len(of_passage) < len(earlier)
        )

    def take(self, branch: Branch, position: int, row: int) -> Sequence[GenerationStep]:
        """See Generation."""
        place = self.branches.index(branch)
        return self._score(place, position, row) if self._candidates else self._write(place, row)

    def close(self) -> None:
        """See Generation."""
        for writer in self._writers:
            writer.close()

    def _write(self, place: int, row: int) -> Sequence[GenerationStep]:
        writer, branch = self._writers[place], self.branches[place]
        branch.preferences.apply(self._llama.logits(row))
        self._texts[place] += writer.write(row)
        if not writer.is_over:
            branch.write(writer.tokens[-1])
            return ()
        return self._begin_scoring() if all(one.is_over for one in self._writers) else ()

    def _begin_scoring(self) -> Sequence[GenerationStep]:
        # An empty text is the likeliest of all, being short, and no answer.
        written = [tuple(one.tokens) for one, text in zip(self._writers, self._texts, strict=True) if text]
        self._candidates = list(dict.fromkeys(written))
        if not self._candidates:
            return (self._done(()),)
        self._log_p_tokens = [[[] for _ in self.branches] for _ in self._candidates]
        if len(self.branches) == 1:
            return self._conclude(0, np.zeros(1))
        for branch in self.branches:
            branch.read_after_prompt(self._llama, self._candidates[0][:-1])
        return ()

    def _score(self, place: int, position: int, row: int) -> Sequence[GenerationStep]:
        branch = self.branches[place]
        number = next(i for i, scores in enumerate(self._log_p_tokens) if len(scores[place]) < len(self._candidates[i]))
        candidate, scores = self._candidates[number], self._log_p_tokens[number][place]
        token = candidate[position - branch.prompt_tokens + 1]
        logits = self._llama.logits(row)
        branch.preferences.apply(logits)
        branch.preferences.accept(token)
        scores.append(log_softmax(logits)[token].item())
        if len(scores) < len(candidate):
            return ()
        if number + 1 < len(self._candidates):
            branch.read_after_prompt(self._llama, self._candidates[number + 1][:-1])
            return ()
        if any(len(one) < len(self._candidates[-1]) for one in self._log_p_tokens[-1]):
            return ()
        best, _ = best_sequence(self._log_p_tokens, self._log_p_passages)
        return self._conclude(best, np.array([sum(one) for one in self._log_p_tokens[best]]))

    def _conclude(self, best: int, log_likelihoods: Logs) -> Sequence[GenerationStep]:
        """Tell the candidate; `log_likelihoods` is (k,): how likely it is under each passage."""
        posteriors = np.exp(passage_posterior(log_likelihoods, self._log_p_passages)).tolist()
        # Several passages may have led to the same text.
        origins = [i for i, one in enumerate(self._writers) if tuple(one.tokens) == self._candidates[best]]
        origin = max(origins, key=posteriors.__getitem__)
        priors = np.exp(self._log_p_passages).tolist()
        weights = tuple(
            PassageWeight(prior, posterior, wrote_answer=place == origin)
            for place, (prior, posterior) in enumerate(zip(priors, posteriors, strict=True))
        )
        return TextPiece(self._texts[origin]), self._done(weights)

    def _done(self, weights: tuple[PassageWeight, ...]) -> GenerationDone:
        return GenerationDone(sum(one.completion_tokens for one in self._writers), weights)
