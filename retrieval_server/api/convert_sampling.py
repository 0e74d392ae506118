"""How a model is to choose its words, from protobuf; checked on the way in."""

from groundwire.v1 import answer_service_pb2
from retrieval_server.errors import FieldError
from retrieval_server.generation.answers.sampling import Sampling

_MAX_TEMPERATURE = 2.0
_MAX_STOP_COUNT = 8
_MAX_STOP_CHARS = 64


def sampling_options(options: answer_service_pb2.AnswerOptions, prefix: str, wrong: list[FieldError]) -> Sampling:
    """Return what a request asks for; add to `wrong` what it must not. NaN is outside of every range."""
    temperature = options.temperature if options.HasField("temperature") else None
    if temperature is not None and not 0 <= temperature <= _MAX_TEMPERATURE:
        wrong.append(FieldError(f"{prefix}temperature", f"must be 0 to {_MAX_TEMPERATURE:g}, not {temperature:g}"))
    top_p = options.top_p if options.HasField("top_p") else None
    if top_p is not None and not 0 < top_p <= 1:
        wrong.append(FieldError(f"{prefix}top_p", f"must be above 0 and at most 1, not {top_p:g}"))
    seed = options.seed if options.HasField("seed") else None
    if seed is not None and seed < 0:
        wrong.append(FieldError(f"{prefix}seed", f"must be 0 or more, not {seed}"))
    if len(options.stops) > _MAX_STOP_COUNT:
        wrong.append(FieldError(f"{prefix}stops", f"at most {_MAX_STOP_COUNT}, not {len(options.stops)}"))
    else:  # of millions, each would be a wrong field of its own
        wrong.extend(
            FieldError(f"{prefix}stops[{index}]", f"must have 1 to {_MAX_STOP_CHARS} characters, not {len(stop)}")
            for index, stop in enumerate(options.stops)
            if not 1 <= len(stop) <= _MAX_STOP_CHARS
        )
    return Sampling(temperature, top_p, seed, tuple(options.stops))
