"""What a request says of the prompt, checked: how passages are packed, and the conversation so far."""

from collections.abc import Sequence

from groundwire.v1 import answer_pb2
from retrieval_server.errors import FieldError, InvalidRequest, beyond_limit
from retrieval_server.generation.packing.packing import PackingOptions, PackingOrder
from retrieval_server.generation.questions.conversation import Turn
from retrieval_server.settings import MIN_FOCUS_CHARS, ServerSettings

_MAX_FOCUS_CHARS = 1_000_000
_MAX_PER_SOURCE = 1000
_MAX_TURNS = 50
_MAX_TURN_ANSWER_CHARS = 20_000

_ORDERS = {
    answer_pb2.PACKING_ORDER_UNSPECIFIED: PackingOrder.BEST_FIRST,
    answer_pb2.PACKING_ORDER_BEST_FIRST: PackingOrder.BEST_FIRST,
    answer_pb2.PACKING_ORDER_BEST_LAST: PackingOrder.BEST_LAST,
    answer_pb2.PACKING_ORDER_DOCUMENT: PackingOrder.DOCUMENT,
}


def packing_options(
    options: answer_pb2.PackingOptions, settings: ServerSettings, prefix: str, wrong: list[FieldError]
) -> PackingOptions:
    """Return the options; what is wrong with them is added to `wrong`."""
    if options.order not in _ORDERS:
        wrong.append(FieldError(f"{prefix}order", f"{options.order} is not a value of PackingOrder"))
    per_source = options.max_per_source if options.HasField("max_per_source") else None
    if per_source is not None and not 1 <= per_source <= _MAX_PER_SOURCE:
        wrong.append(FieldError(f"{prefix}max_per_source", f"must be 1 to {_MAX_PER_SOURCE:,}, not {per_source}"))
    focus_chars = options.focus_chars if options.HasField("focus_chars") else settings.default_focus_chars
    if focus_chars and not MIN_FOCUS_CHARS <= focus_chars <= _MAX_FOCUS_CHARS:
        description = f"must be 0 or {MIN_FOCUS_CHARS} to {_MAX_FOCUS_CHARS:,}, not {focus_chars}"
        wrong.append(FieldError(f"{prefix}focus_chars", description))
    return PackingOptions(_ORDERS.get(options.order, PackingOrder.BEST_FIRST), per_source, focus_chars)


def history_from_pb(
    turns: Sequence[answer_pb2.ConversationTurn], settings: ServerSettings, field: str
) -> tuple[Turn, ...]:
    """Return the conversation; raises InvalidRequest with what is wrong with it."""
    if len(turns) > _MAX_TURNS:
        description = f"has {len(turns)} turns of at most {_MAX_TURNS}; send the last ones"
        raise beyond_limit(field, description, limit=_MAX_TURNS, actual=len(turns))
    wrong: list[FieldError] = []
    for place, turn in enumerate(turns):
        if not turn.question.strip():
            wrong.append(FieldError(f"{field}[{place}].question", "must not be blank"))
        if len(turn.question.encode("utf-8", "surrogatepass")) > settings.max_query_bytes:
            description = f"must be at most {settings.max_query_bytes} bytes of UTF-8"
            wrong.append(FieldError(f"{field}[{place}].question", description))
        if len(turn.answer) > _MAX_TURN_ANSWER_CHARS:
            description = f"must be at most {_MAX_TURN_ANSWER_CHARS:,} characters, not {len(turn.answer):,}"
            wrong.append(FieldError(f"{field}[{place}].answer", description))
    if wrong:
        raise InvalidRequest(*wrong)
    return tuple(Turn(turn.question, turn.answer) for turn in turns)
