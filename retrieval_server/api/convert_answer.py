"""Answers between protobuf and the server's own nouns; requests are checked on the way in."""

import hashlib
import re
import uuid
from dataclasses import replace

from groundwire.v1 import answer_pb2, answer_service_pb2, error_pb2
from retrieval_server.api.convert import retrieve_query, skipped_reason_to_pb
from retrieval_server.api.convert_condensing import is_condensed_by_model
from retrieval_server.api.convert_packing import history_from_pb, packing_options
from retrieval_server.api.convert_sampling import sampling_options
from retrieval_server.api.status import item_status
from retrieval_server.errors import FieldError, InvalidRequest
from retrieval_server.generation.answers.answer_model import (
    DEFAULT_MIN_SUPPORTED,
    AnswerMode,
    AnswerOptions,
    AnswerState,
    Citation,
    Delta,
    Event,
    Fallback,
    Generator,
    OnDisconnect,
    Priority,
    Question,
    Restarted,
    Result,
    Retrieved,
)
from retrieval_server.generation.answers.answer_modes import MODE_FROM_PB, PROMPT_A_PASSAGE, mode_to_pb
from retrieval_server.generation.jobs.job_messages import dropped_to_pb, packed_to_pb
from retrieval_server.generation.questions.condensing import Conversation
from retrieval_server.generation.questions.condensing_message import condensing_to_pb
from retrieval_server.generation.questions.conversation import standalone_question
from retrieval_server.generation.questions.rewriting import rewritten_question
from retrieval_server.passage_message import passage_to_pb
from retrieval_server.settings import ServerSettings

_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TELLING_S = 1.0
_TELLING_SHARE = 0.1
_DEFAULT_COMPLETION_TOKENS = 256
_MAX_COMPLETION_TOKENS = 2048
_MIN_PROMPT_TOKENS = 256

_FALLBACKS = {
    answer_pb2.ANSWER_FALLBACK_UNSPECIFIED: Fallback.EXTRACTIVE,
    answer_pb2.ANSWER_FALLBACK_EXTRACTIVE: Fallback.EXTRACTIVE,
    answer_pb2.ANSWER_FALLBACK_NONE: Fallback.NONE,
}
_DISCONNECT_POLICIES = {
    answer_pb2.DISCONNECT_POLICY_UNSPECIFIED: OnDisconnect.CANCEL,
    answer_pb2.DISCONNECT_POLICY_CANCEL: OnDisconnect.CANCEL,
    answer_pb2.DISCONNECT_POLICY_KEEP: OnDisconnect.KEEP,
}
_PRIORITIES = {
    answer_pb2.ANSWER_PRIORITY_INTERACTIVE: Priority.INTERACTIVE,
    answer_pb2.ANSWER_PRIORITY_BATCH: Priority.BATCH,
}
_STATES_OUT = {
    AnswerState.ANSWERED: answer_pb2.ANSWER_STATE_ANSWERED,
    AnswerState.SKIPPED: answer_pb2.ANSWER_STATE_SKIPPED,
    AnswerState.CANCELLED: answer_pb2.ANSWER_STATE_CANCELLED,
    AnswerState.EXPIRED: answer_pb2.ANSWER_STATE_EXPIRED,
    AnswerState.FAILED: answer_pb2.ANSWER_STATE_FAILED,
}


def question_from_pb(
    request: answer_service_pb2.AnswerRequest
    | answer_service_pb2.StreamAnswerRequest
    | answer_service_pb2.RenderPromptRequest,
    settings: ServerSettings,
    *,
    call_remaining_s: float | None,
    field_prefix: str = "",
    caller: str = "",
    default_priority: Priority = Priority.INTERACTIVE,
) -> Question:
    """Check a request to answer; raises InvalidRequest with every wrong option.

    `call_remaining_s` is what is left of the call's deadline, the job's time limit unless the request sets one.
    """
    request_id = "" if isinstance(request, answer_service_pb2.RenderPromptRequest) else request.request_id
    if request_id:
        check_request_id(request_id, f"{field_prefix}request_id")
    options = _options(request.options, settings, call_remaining_s, f"{field_prefix}options.", default_priority)
    by_model = is_condensed_by_model(request.options.condensing_method, settings, f"{field_prefix}options.")
    retrieve = retrieve_query(request.retrieve, settings, f"{field_prefix}retrieve.")
    turns = history_from_pb(request.history, settings, f"{field_prefix}history")
    asked = rewritten_question(retrieve.query) if request.options.rewrite_question else retrieve.query
    for_model = None
    # Where nothing was said before and nothing is to be left out, the question stands by itself.
    if by_model and (turns or request.options.rewrite_question):
        for_model = Conversation(retrieve.query, turns)
    return Question(
        retrieve=replace(retrieve, query=standalone_question(asked, turns)),
        options=options,
        request_id=request_id or uuid.uuid4().hex,
        request_hash=_request_hash(request),
        id_is_callers=bool(request_id),
        caller=caller,
        for_model=for_model,
    )


def check_request_id(request_id: str, field: str = "request_id") -> None:
    """Raise InvalidRequest unless this can be the id of an answer."""
    if not _REQUEST_ID.fullmatch(request_id):
        raise InvalidRequest(FieldError(field, 'must be 1 to 64 of letters, digits, "-" and "_"'))


def event_to_pb(event: Event) -> answer_service_pb2.AnswerEvent:
    """Return the message of one event."""
    message = answer_service_pb2.AnswerEvent(sequence=event.sequence)
    match event.content:
        case Retrieved() as retrieved:
            message.retrieved.request_id = retrieved.request_id
            message.retrieved.passages.extend(map(passage_to_pb, retrieved.passages))
            message.retrieved.index_generation = retrieved.index_generation
        case Delta(text=text):
            message.delta.text = text
        case Restarted(attempt=attempt, reason=reason):
            message.restarted.attempt = attempt
            message.restarted.reason = reason
        case Result() as result:
            message.terminal.CopyFrom(result_to_pb(result))
    return message


def result_to_pb(result: Result) -> answer_pb2.AnswerResult:
    """Return the message of a whole answer."""
    message = answer_pb2.AnswerResult(
        request_id=result.retrieved.request_id,
        state=_STATES_OUT[result.state],
        text=result.text,
        citations=map(_citation_to_pb, result.citations),
        sentences=(
            answer_pb2.SentenceSupport(
                start_char=sentence.start_char,
                end_char=sentence.end_char,
                supported=sentence.supported,
                citation_indexes=sentence.citation_indexes,
            )
            for sentence in result.sentences
        ),
        passages=map(passage_to_pb, result.retrieved.passages),
        index_generation=result.retrieved.index_generation,
        attempt_count=result.attempt_count,
        answer_skipped_reason=skipped_reason_to_pb(result.skipped_reason),
        status=error_pb2.ItemStatus() if result.error is None else item_status(result.error),
        standalone_question=result.question,
        missing_words=result.missing_words,
        condensing=condensing_to_pb(result.retrieved.condensing),
    )
    if result.packing is not None:
        message.packed_passages.extend(map(packed_to_pb, result.packing.packed))
        message.dropped_passages.extend(map(dropped_to_pb, result.packing.dropped))
    if result.generator is not None:
        message.generator.CopyFrom(_generator_to_pb(result.generator))
    return message


def _citation_to_pb(citation: Citation) -> answer_pb2.Citation:
    return answer_pb2.Citation(
        path=citation.path,
        start_char=citation.start_char,
        end_char=citation.end_char,
        start_line=citation.start_line,
        end_line=citation.end_line,
        text=citation.text,
        passage_index=citation.passage_index,
    )


def _generator_to_pb(generator: Generator) -> answer_pb2.GeneratorInfo:
    return answer_pb2.GeneratorInfo(
        model=generator.model,
        mode=mode_to_pb(generator.mode),
        fallback_reason=generator.fallback_reason or error_pb2.ERROR_REASON_UNSPECIFIED,
        prompt_tokens=generator.prompt_tokens,
        completion_tokens=generator.completion_tokens,
        dropped_passage_indexes=generator.dropped_passage_indexes,
        from_cache=generator.from_cache,
        backend=generator.backend,
        passage_weights=(
            answer_pb2.PassageWeight(
                packed_index=one.packed_index,
                prior=one.prior,
                posterior=one.posterior,
                wrote_answer=one.wrote_answer,
            )
            for one in generator.passage_weights
        ),
    )


def _options(
    options: answer_service_pb2.AnswerOptions,
    settings: ServerSettings,
    call_remaining_s: float | None,
    prefix: str,
    default_priority: Priority,
) -> AnswerOptions:
    wrong: list[FieldError] = []
    if options.closed_book and MODE_FROM_PB.get(options.mode) in {AnswerMode.EXTRACTIVE, *PROMPT_A_PASSAGE}:
        description = f"cannot be had with mode {MODE_FROM_PB[options.mode].name}, which reads the corpus"
        wrong.append(FieldError(f"{prefix}closed_book", description))
    min_supported = DEFAULT_MIN_SUPPORTED
    if options.HasField("min_supported_share"):
        min_supported = options.min_supported_share
        if not 0 <= min_supported <= 1:
            wrong.append(FieldError(f"{prefix}min_supported_share", f"must be 0 to 1, not {min_supported:g}"))
    wrong.extend(
        FieldError(prefix + name, f"{value} is not a value of {enum.DESCRIPTOR.name}")
        for name, value, enum, known in (
            ("mode", options.mode, answer_pb2.AnswerMode, MODE_FROM_PB),
            ("fallback", options.fallback, answer_pb2.AnswerFallback, _FALLBACKS),
            ("on_disconnect", options.on_disconnect, answer_pb2.DisconnectPolicy, _DISCONNECT_POLICIES),
            ("priority", options.priority, answer_pb2.AnswerPriority, {*_PRIORITIES, 0}),
        )
        if value not in known
    )
    completion_tokens = _DEFAULT_COMPLETION_TOKENS
    most_completion_tokens = min(_MAX_COMPLETION_TOKENS, settings.prompt_context_tokens - _MIN_PROMPT_TOKENS)
    if options.HasField("max_completion_tokens"):
        completion_tokens = options.max_completion_tokens
        if not 1 <= completion_tokens <= most_completion_tokens:
            description = f"must be 1 to {most_completion_tokens}, not {completion_tokens}"
            wrong.append(FieldError(f"{prefix}max_completion_tokens", description))
    most_prompt_tokens = settings.prompt_context_tokens - min(max(completion_tokens, 1), most_completion_tokens)
    prompt_tokens = min(settings.default_prompt_tokens, most_prompt_tokens)
    if options.HasField("max_prompt_tokens"):
        prompt_tokens = options.max_prompt_tokens
    if not _MIN_PROMPT_TOKENS <= prompt_tokens <= most_prompt_tokens:
        description = (
            f"must be {_MIN_PROMPT_TOKENS} to {most_prompt_tokens} "
            f"(the context less max_completion_tokens), not {prompt_tokens}"
        )
        wrong.append(FieldError(f"{prefix}max_prompt_tokens", description))
    timeout_s = settings.default_answer_timeout_s
    if call_remaining_s is not None:
        # A little less than the call has, so that its end can still be told.
        timeout_s = max(call_remaining_s - min(_TELLING_S, call_remaining_s * _TELLING_SHARE), 0.001)
    timeout_s = min(timeout_s, settings.max_answer_timeout_s)
    if options.HasField("timeout"):
        timeout_s = options.timeout.seconds + options.timeout.nanos / 1e9
        if not 0 < timeout_s <= settings.max_answer_timeout_s:
            description = f"must be above 0 and at most {settings.max_answer_timeout_s:g} s, not {timeout_s:g} s"
            wrong.append(FieldError(f"{prefix}timeout", description))
    packing = packing_options(options.packing, settings, f"{prefix}packing.", wrong)
    sampling = sampling_options(options, prefix, wrong)
    if wrong:
        raise InvalidRequest(*wrong)
    return AnswerOptions(
        mode=MODE_FROM_PB[options.mode],
        fallback=_FALLBACKS[options.fallback],
        on_disconnect=_DISCONNECT_POLICIES[options.on_disconnect],
        max_completion_tokens=completion_tokens,
        max_prompt_tokens=prompt_tokens,
        answer_anyway=options.answer_anyway,
        timeout_s=timeout_s,
        closed_book=options.closed_book,
        min_supported=min_supported,
        packing=packing,
        copy_bonus=settings.copy_bonus,
        priority=_PRIORITIES.get(options.priority, default_priority),
        generate_anew=options.generate_anew,
        sampling=sampling,
    )


def _request_hash(
    request: answer_service_pb2.AnswerRequest
    | answer_service_pb2.StreamAnswerRequest
    | answer_service_pb2.RenderPromptRequest,
) -> bytes:
    asked = answer_service_pb2.AnswerRequest(
        retrieve=request.retrieve, options=request.options, history=request.history
    )
    return hashlib.sha256(asked.SerializeToString(deterministic=True)).digest()
