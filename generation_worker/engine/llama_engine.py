"""Answers by a local model through llama.cpp, several at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from generation_worker.decoding.copying import CopyBonus
from generation_worker.engine.completion import Completion
from generation_worker.engine.holes import hole_fillers
from generation_worker.engine.llama_model import ComputeError, ComputeInterrupted, LlamaModel, ModelUnusableError, Row
from generation_worker.engine.prefill_turns import PrefillTurns, UnreadPrompt
from generation_worker.engine.prompt import STOPS, pack_prompt, prompt_start
from generation_worker.engine.protocol import (
    GenerationDone,
    GenerationError,
    GenerationFailed,
    KeyedStep,
    PromptPacked,
    TextPiece,
)
from generation_worker.engine.sampler import Sampler
from generation_worker.engine.slots import Slot, place
from groundwire.internal.v1 import job_pb2

DEFAULT_COMPLETION_TOKENS = 256


@dataclass(slots=True)
class _Generation:
    """`tokens` are those to compute: the prompt, and whatever was chosen since."""

    key: int
    slot: Slot
    tokens: list[int]
    prompt_tokens: int
    sampler: Sampler
    completion: Completion

    @property
    def unread_tokens(self) -> int:
        return len(self.tokens) - len(self.slot.tokens)

    @property
    def is_writing(self) -> bool:
        return len(self.slot.tokens) >= self.prompt_tokens

    def next_rows(self, count: int) -> list[Row]:
        """Return the next `count` tokens to compute; after the last of all one is to be chosen."""
        begin, last = len(self.slot.tokens), len(self.tokens) - 1
        return [
            Row(self.tokens[position], position, self.slot.sequence, wants_next=position == last)
            for position in range(begin, begin + count)
        ]


class LlamaEngine:
    """An Engine over one GGUF model that speaks ChatML.

    Each step computes a token for every generation that writes, and as much of the prompts as there is room for.
    On a CPU a job gives the same text every time, whatever goes on beside it and whatever came before.
    """

    def __init__(
        self,
        path: Path,
        *,
        model: str,
        context_tokens: int,
        slot_count: int,
        thread_count: int,
        gpu_layer_count: int = 0,
    ) -> None:
        """Load the model and compute what all prompts begin with, in every slot.

        Raises:
            ModelUnusableError: the file is missing, no GGUF, too large, or of a model that does not speak ChatML.
        """
        llama = LlamaModel(
            path,
            context_tokens=context_tokens,
            sequence_count=slot_count,
            thread_count=thread_count,
            gpu_layer_count=gpu_layer_count,
        )
        self.model = model
        self.slot_count = slot_count
        self._llama = llama
        if len(llama.scaffold_tokens("<|im_start|>")) != 1:
            raise ModelUnusableError(f"{path} is not a chat model with ChatML turns (it has no <|im_start|> token)")
        self._start_tokens = prompt_start(llama)
        self._slots = [Slot(sequence) for sequence in range(slot_count)]
        self._generations: dict[int, _Generation] = {}
        self._turns = PrefillTurns()
        self._news: list[KeyedStep] = []
        self._compute_start()

    @property
    def context_tokens(self) -> int:
        """Tokens of prompt and completion together, of each generation."""
        return self._llama.context_tokens

    @property
    def is_idle(self) -> bool:
        """Whether a step would do nothing."""
        return not self._generations and not self._news

    def _compute_start(self) -> None:
        rows = [Row(token, position, 0, wants_next=False) for position, token in enumerate(self._start_tokens)]
        for begin in range(0, len(rows), self._llama.step_tokens):
            self._llama.compute(rows[begin : begin + self._llama.step_tokens])
        for slot in self._slots:
            if slot.sequence:
                self._llama.copy(0, slot.sequence)
            slot.tokens = list(self._start_tokens)

    def start(self, key: int, job: job_pb2.GenerationJob) -> None:
        """See Engine."""
        completion_tokens = job.max_completion_tokens or DEFAULT_COMPLETION_TOKENS
        budget_tokens = self.context_tokens - min(completion_tokens, self.context_tokens // 2)
        if job.max_prompt_tokens > 0:
            budget_tokens = min(budget_tokens, job.max_prompt_tokens)
        try:
            prompt = pack_prompt(
                self._llama,
                job.question,
                job.passages,
                budget_tokens,
                answer_start=job.answer_start,
                closed_book=job.closed_book,
            )
        except GenerationError as error:
            self._news.append((key, GenerationFailed(error)))
            return
        placing = place(self._slots, prompt.tokens)
        if placing is None:
            raise RuntimeError(f"all {self.slot_count} slots are taken")
        slot = placing.slot
        if placing.copied_from is not None:
            self._llama.copy(placing.copied_from.sequence, slot.sequence)
        self._llama.keep_only(slot.sequence, placing.kept_tokens)
        slot.tokens = list(prompt.tokens[: placing.kept_tokens])
        slot.is_free = False
        self._generations[key] = _Generation(
            key,
            slot,
            list(prompt.tokens),
            len(prompt.tokens),
            Sampler(self._llama.vocab_token_count, job, self._copying(job, prompt.dropped_passage_indexes)),
            Completion(
                min(completion_tokens, self.context_tokens - len(prompt.tokens)),
                (*STOPS, *(stop for stop in job.stops if stop)),
            ),
        )
        self._news.append((key, PromptPacked(len(prompt.tokens), prompt.dropped_passage_indexes)))

    def _copying(self, job: job_pb2.GenerationJob, dropped: Sequence[int]) -> CopyBonus | None:
        if job.copy_bonus <= 0:
            return None
        # After a line break, so that a text's first word has the tokens that it has in the prompt.
        sources = [
            self._llama.content_tokens(f"\n{passage.text}\n")
            for index, passage in enumerate(job.passages)
            if index not in dropped
        ]
        return CopyBonus(sources, self._llama.piece, job.copy_bonus)

    def stop(self, key: int) -> None:
        """See Engine."""
        self._news = [(of, step) for of, step in self._news if of != key]
        self._release(key)

    def _release(self, key: int) -> None:
        if generation := self._generations.pop(key, None):
            # What was written was computed token by token: as part of a prompt it would round otherwise.
            del generation.slot.tokens[generation.prompt_tokens :]
            self._llama.keep_only(generation.slot.sequence, len(generation.slot.tokens))
            generation.slot.is_free = True
            generation.sampler.close()

    def interrupt(self) -> None:
        """See Engine."""
        self._llama.interrupt()

    def step(self) -> Sequence[KeyedStep]:
        """See Engine."""
        # What is known already does not wait for a computation.
        if not self._news:
            self._compute()
        news, self._news = self._news, []
        return news

    def _compute(self) -> None:
        try:
            self._write()
            self._read()
        except ComputeInterrupted:
            for slot in self._slots:
                self._llama.keep_only(slot.sequence, len(slot.tokens))
        except ComputeError as error:
            for key in list(self._generations):
                self._news.append((key, GenerationFailed(error)))
                self._release(key)
            self._llama.forget_all()
            self._compute_start()

    def _write(self) -> None:
        """Compute one token of every generation that writes, in one batch."""
        writing = sorted(self._writing(), key=lambda generation: generation.slot.sequence)
        if not writing:
            return
        fillers = hole_fillers(self._slots, [one.slot.sequence for one in writing], self.context_tokens)
        # llama.cpp computes together what is neighbouring sequences in the order of the rows.
        rows = sorted((*(one.next_rows(1)[0] for one in writing), *fillers), key=lambda row: row.sequence)
        self._llama.compute(rows)
        for filler in fillers:
            self._llama.keep_only(filler.sequence, filler.position)
        index_of = {row.sequence: index for index, row in enumerate(rows)}
        for generation in writing:
            generation.slot.tokens.append(generation.tokens[-1])
            self._choose(generation, index_of[generation.slot.sequence])

    def _read(self) -> None:
        """Compute as much of the prompts as a step has room for, each in a batch of its own."""
        unread = [
            UnreadPrompt(key, generation.unread_tokens)
            for key, generation in self._generations.items()
            if not generation.is_writing
        ]
        budget_tokens = self._llama.step_tokens - (len(self._generations) - len(unread))
        for key, count in self._turns.share(unread, budget_tokens).items():
            generation = self._generations[key]
            rows = generation.next_rows(count)
            self._llama.compute(rows)
            generation.slot.tokens += [row.token for row in rows]
            if not generation.unread_tokens:
                self._choose(generation, count - 1)

    def _writing(self) -> list[_Generation]:
        return [generation for generation in self._generations.values() if generation.is_writing]

    def _choose(self, generation: _Generation, row: int) -> None:
        """Choose the token after row `row` of the last batch."""
        token = generation.sampler.choose(self._llama.context, row)
        completion = generation.completion
        text, is_over = "", self._llama.is_end(token)
        if not is_over:
            text = completion.feed(token, self._llama.piece(token))
            is_over = completion.is_over
        if is_over:
            text += completion.finish()
        else:
            generation.tokens.append(token)
        if text:
            self._news.append((generation.key, TextPiece(text)))
        if is_over:
            self._news.append((generation.key, GenerationDone(completion.token_count)))
            self._release(generation.key)
