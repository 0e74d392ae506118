"""One text being written: its tokens are chosen one by one, and it knows when it is over."""

from generation_worker.engine.completion import Completion
from generation_worker.engine.llama_model import LlamaModel
from generation_worker.engine.sampler import Sampler
from groundwire.internal.v1 import job_pb2


class Writer:
    """Chooses the tokens of a text from the logits as they are."""

    def __init__(
        self, llama: LlamaModel, job: job_pb2.GenerationJob, *, max_tokens: int, stops: tuple[str, ...]
    ) -> None:
        self._llama = llama
        self._sampler = Sampler(job)
        self._completion = Completion(max_tokens, (*stops, *(stop for stop in job.stops if stop)))
        self.tokens: list[int] = []
        """What was chosen, the token that ended it included."""
        self.is_over = False

    @property
    def completion_tokens(self) -> int:
        """Tokens of the text."""
        return self._completion.token_count

    def write(self, row: int) -> str:
        """Choose the token after row `row` of the last batch; return the text that may be shown by now."""
        token = self._sampler.choose(self._llama.context, row)
        self.tokens.append(token)
        text, self.is_over = "", self._llama.is_end(token)
        if not self.is_over:
            text = self._completion.feed(token, self._llama.piece(token))
            self.is_over = self._completion.is_over
        return text + self._completion.finish() if self.is_over else text

    def close(self) -> None:
        """Free what llama.cpp holds for it."""
        self._sampler.close()
