"""A job in tokens: its prompts, and how long its text may get."""

from collections.abc import Sequence
from dataclasses import dataclass

from generation_worker.engine.passage_prompts import pack_passage_prompts
from generation_worker.engine.prompt import PackedPrompt, Tokenizer, pack_prompt
from groundwire.internal.v1 import job_pb2
from groundwire.prompt import prompt_kind
from groundwire.v1 import answer_pb2, passage_pb2

DEFAULT_COMPLETION_TOKENS = 256
PROMPT_A_PASSAGE = (answer_pb2.ANSWER_MODE_RAG_SEQUENCE, answer_pb2.ANSWER_MODE_RAG_TOKEN)
"""Modes in which each passage has a prompt of its own."""


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A job that can begin once there is a slot for each of its prompts; `passages` are those that are in them."""

    job: job_pb2.GenerationJob
    prompts: tuple[PackedPrompt, ...]
    passages: tuple[passage_pb2.Passage, ...]
    dropped_passage_indexes: tuple[int, ...]
    completion_tokens: int

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all prompts."""
        return sum(len(prompt.tokens) for prompt in self.prompts)


def plan_job(tokenizer: Tokenizer, job: job_pb2.GenerationJob, *, context_tokens: int, most_prompts: int) -> PlannedJob:
    """Pack the prompts of a job: each fits `context_tokens` together with any text that may follow it.

    Raises:
        GenerationError: the question alone is too long, or there is no passage in a mode that needs one.
    """

    def pack(passages: Sequence[passage_pb2.Passage], most_tokens: int) -> PackedPrompt:
        return pack_prompt(
            tokenizer,
            job.question,
            passages,
            most_tokens,
            answer_start=job.answer_start,
            kind=prompt_kind(job),
            history=job.condensing.history,
        )

    completion_tokens = job.max_completion_tokens or DEFAULT_COMPLETION_TOKENS
    budget_tokens = context_tokens - min(completion_tokens, context_tokens // 2)
    total_tokens = job.max_prompt_tokens if job.max_prompt_tokens > 0 else most_prompts * budget_tokens
    if job.mode in PROMPT_A_PASSAGE:
        packed = pack_passage_prompts(
            pack, job.passages, budget_tokens=budget_tokens, total_tokens=total_tokens, most=most_prompts
        )
        prompts, dropped = packed.prompts, packed.dropped_passage_indexes
    else:
        prompt = pack(job.passages, min(total_tokens, budget_tokens))
        prompts, dropped = (prompt,), prompt.dropped_passage_indexes
    room_tokens = context_tokens - max(len(prompt.tokens) for prompt in prompts)
    passages = tuple(passage for index, passage in enumerate(job.passages) if index not in dropped)
    return PlannedJob(job, prompts, passages, dropped, min(completion_tokens, room_tokens))
