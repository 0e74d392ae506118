"""A job as a request for a chat completion: what it asks, packed by an estimate, since the tokenizer is elsewhere."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from generation_worker.engine.protocol import GenerationError
from groundwire.internal.v1 import job_pb2
from groundwire.prompt import passage_text, prompt_kind, question_text, wording
from groundwire.token_estimate import estimate_tokens

DEFAULT_COMPLETION_TOKENS = 256
_MAX_STOP_COUNT = 4  # more are refused by some; all of them are looked for here as well
# The roles and marks of a few messages, whatever the template is.
_TEMPLATE_TOKENS = 64
_MIN_TOP_P = 0.0001
# What chat templates mark turns with. Some servers take it for such wherever it stands, also in a document.
_MARK = re.compile(
    r"<(?=[|｜][^|｜<>\n]{1,40}[|｜]>|/?(?:s|think|bos|eos|start_of_turn|end_of_turn|end_of_utterance)>|</?SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """The body to send, and what it holds."""

    body: Mapping[str, object]
    estimated_prompt_tokens: int
    dropped_passage_indexes: tuple[int, ...]
    max_completion_tokens: int


def chat_request(
    job: job_pb2.GenerationJob, *, model: str, context_tokens: int, extra: Mapping[str, object]
) -> ChatRequest:
    """Return the request for a job: as many passages, best first, as surely fit; `extra` is added.

    Raises:
        GenerationError: the question alone may pass the budget.
    """
    completion_tokens = job.max_completion_tokens or DEFAULT_COMPLETION_TOKENS
    budget_tokens = context_tokens - min(completion_tokens, context_tokens // 2)
    if job.max_prompt_tokens > 0:
        budget_tokens = min(budget_tokens, job.max_prompt_tokens)
    words = wording(prompt_kind(job))
    end = defused(f"{question_text(job.question, job.condensing.history)}\n{words.reminder}")
    token_count = _TEMPLATE_TOKENS + estimate_tokens(words.instruction) + estimate_tokens(end)
    if token_count > budget_tokens:
        raise GenerationError(
            f"The question alone may take {token_count} tokens of prompt; {budget_tokens} are allowed."
        )
    sources: list[str] = []
    for number, passage in enumerate(job.passages, start=1):
        source = defused(passage_text(number, passage))
        source_tokens = estimate_tokens(source)
        if token_count + source_tokens > budget_tokens:
            break
        token_count += source_tokens
        sources.append(source)
    # One of white space alone would end an answer that begins with it, or the thoughts before: we look for it here.
    stops = [stop for stop in job.stops if stop.strip()]
    body: dict[str, object] = {
        "stream_options": {"include_usage": True},
        "max_tokens": completion_tokens,
        "temperature": round(job.temperature, 4),
        **({"top_p": max(round(job.top_p, 4), _MIN_TOP_P)} if job.HasField("top_p") else {}),
        **({"seed": job.seed} if job.HasField("seed") else {}),
        **({"stop": stops[:_MAX_STOP_COUNT]} if stops else {}),
        **extra,
    }
    # What an interface does not know is left out by a null.
    body = {name: value for name, value in body.items() if value is not None} | {
        "model": model,
        "messages": [
            {"role": "system", "content": words.instruction},
            {"role": "user", "content": "".join(sources) + end},
        ],
        "stream": True,
    }
    return ChatRequest(body, token_count, tuple(range(len(sources), len(job.passages))), completion_tokens)


def defused(text: str) -> str:
    """Return a text in which nothing is a mark of a chat template any more: a space breaks each.

    Another's tokenizer cannot be told what is content. The price: such a mark cannot be quoted as it is.
    """
    return _MARK.sub(lambda mark: f"{mark[0]} ", text)
