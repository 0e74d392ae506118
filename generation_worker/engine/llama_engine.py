"""Answers by a local model through llama.cpp, several at once."""

from collections.abc import Sequence
from math import ceil
from pathlib import Path

from generation_worker.engine.beginning import begin_generation
from generation_worker.engine.branch import Branch, shared_out
from generation_worker.engine.generation import Generation
from generation_worker.engine.holes import hole_fillers
from generation_worker.engine.llama_model import ComputeError, ComputeInterrupted, LlamaModel, Row
from generation_worker.engine.planned_job import PROMPT_A_PASSAGE, PlannedJob, plan_job
from generation_worker.engine.prefill_turns import PrefillTurns, UnreadPrompt
from generation_worker.engine.prompt import prompt_start
from generation_worker.engine.protocol import (
    GenerationDone,
    GenerationError,
    GenerationFailed,
    KeyedStep,
    PromptPacked,
)
from generation_worker.engine.slots import Slot
from generation_worker.generator_identity import file_fingerprint, identity_of
from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2

_SLOTS_SHARE_OF_A_JOB = 5 / 8
"""No job takes all slots: others come and go beside it. Of the default 8 slots one takes up to 5."""


class LlamaEngine:
    """An Engine over one GGUF model with a chat template.

    Each step computes a token for every text that is written, and as much of the prompts as there is room for.
    On a CPU a job gives the same text every time, whatever goes on beside it and whatever came before.
    """

    modes = (answer_pb2.ANSWER_MODE_STUFF, *PROMPT_A_PASSAGE)

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
            ModelUnusableError: the file is missing, no GGUF, too large, or has a chat template that cannot be used.
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
        self.identity = identity_of(
            "llama", {"model": model, "file": file_fingerprint(path), "context_tokens": llama.context_tokens}
        )
        self._llama = llama
        self._start_tokens = prompt_start(llama)
        self._slots = [Slot(sequence) for sequence in range(slot_count)]
        self._waiting: list[tuple[int, PlannedJob]] = []
        self._generations: dict[int, Generation] = {}
        self._turns = PrefillTurns()
        self._news: list[KeyedStep] = []
        self._compute_start()

    @property
    def context_tokens(self) -> int:
        """Tokens of prompt and completion together, of each slot."""
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

    def slots_for(self, job: job_pb2.GenerationJob) -> int:
        """See Engine: a slot for each prompt."""
        if job.mode not in PROMPT_A_PASSAGE:
            return 1
        return min(max(len(job.passages), 1), ceil(self.slot_count * _SLOTS_SHARE_OF_A_JOB))

    def start(self, key: int, job: job_pb2.GenerationJob) -> None:
        """See Engine. Jobs get their slots in the order of their coming."""
        most_prompts = self.slots_for(job)
        try:
            planned = plan_job(self._llama, job, context_tokens=self.context_tokens, most_prompts=most_prompts)
        except GenerationError as error:
            self._news.append((key, GenerationFailed(error)))
            return
        self._news.append((key, PromptPacked(planned.prompt_tokens, planned.dropped_passage_indexes)))
        self._waiting.append((key, planned))
        self._admit()

    def _admit(self) -> None:
        """Begin what waits, as far as there are slots for it."""
        while self._waiting:
            key, planned = self._waiting[0]
            if len(planned.prompts) > sum(slot.is_free for slot in self._slots):
                return
            del self._waiting[0]
            self._generations[key] = begin_generation(self._llama, self._slots, planned)

    def stop(self, key: int) -> None:
        """See Engine."""
        self._news = [(of, step) for of, step in self._news if of != key]
        self._waiting = [(of, planned) for of, planned in self._waiting if of != key]
        self._release(key)
        self._admit()

    def _release(self, key: int) -> None:
        if generation := self._generations.pop(key, None):
            for branch in generation.branches:
                # What was written was computed token by token: as part of a prompt it would round otherwise.
                del branch.slot.tokens[branch.prompt_tokens :]
                self._llama.keep_only(branch.slot.sequence, len(branch.slot.tokens))
                branch.slot.is_free = True
            generation.close()

    def interrupt(self) -> None:
        """See Engine."""
        self._llama.interrupt()

    def step(self) -> Sequence[KeyedStep]:
        """See Engine."""
        # What is known already does not wait for a computation.
        if not self._news:
            self._compute()
            self._admit()
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
            self._begin_anew()

    def _begin_anew(self) -> None:
        """Forget everything: what the sequences hold is not known."""
        self._llama.forget_all()
        for slot in self._slots:
            slot.tokens = []
        try:
            self._compute_start()
        except ComputeInterrupted:  # then each prompt is read from its very beginning
            self._llama.forget_all()

    def _write(self) -> None:
        """Compute one token of every text that is written, in one batch."""
        writing = [
            (key, branch)
            for key, generation in self._generations.items()
            for branch in generation.branches
            if branch.is_writing
        ]
        if not writing:
            return
        fillers = hole_fillers(self._slots, [one.slot.sequence for _, one in writing], self.context_tokens)
        # llama.cpp computes together what is neighbouring sequences in the order of the rows.
        rows = sorted((*(one.next_rows(1)[0] for _, one in writing), *fillers), key=lambda row: row.sequence)
        self._llama.compute(rows)
        for filler in fillers:
            self._llama.keep_only(filler.sequence, filler.position)
        index_of = {row.sequence: index for index, row in enumerate(rows)}
        for _, branch in writing:
            branch.slot.tokens.append(branch.tokens[-1])
        for key, branch in writing:
            self._take(key, branch, len(branch.slot.tokens) - 1, index_of[branch.slot.sequence])

    def _read(self) -> None:
        """Compute as much of the prompts as a step has room for, each in a batch of its own.

        The prompts of one generation count as one: it is no sooner done for having several.
        """
        reading = {
            key: found
            for key, generation in self._generations.items()
            if (found := [branch for branch in generation.branches if branch.is_reading])
        }
        unread = [
            UnreadPrompt(key, sum(branch.unread_tokens for branch in of) + self._generations[key].later_tokens)
            for key, of in reading.items()
        ]
        writing_count = sum(branch.is_writing for one in self._generations.values() for branch in one.branches)
        is_alone = len(self._generations) == 1
        step_tokens = self._llama.lone_step_tokens if is_alone else self._llama.step_tokens
        for key, count in self._turns.share(unread, step_tokens - writing_count).items():
            for branch, part in shared_out(reading[key], count):
                rows = branch.next_rows(part)
                self._llama.compute(rows)
                branch.slot.tokens += [row.token for row in rows]
                for index, row in enumerate(rows):
                    if row.wants_next:
                        self._take(key, branch, row.position, index)

    def _take(self, key: int, branch: Branch, position: int, row: int) -> None:
        """Hand a generation the logits after one of its tokens."""
        steps = self._generations[key].take(branch, position, row)
        self._news += [(key, step) for step in steps]
        if any(isinstance(step, GenerationDone) for step in steps):
            self._release(key)
