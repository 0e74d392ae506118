"""Log set-up shared by the processes: one JSON object a line on standard error."""

import logging
from typing import TextIO, cast

import structlog

from groundwire.masking import mask_secrets
from groundwire.standard_streams import BestEffortStream

# A traceback's local variables hold what callers sent; they stay out of logs.
_TRACEBACKS = structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False))


def configure_logs(process: str, level: str = "INFO") -> None:
    """Send structlog events, and what libraries log through `logging`, to standard error as JSON lines.

    `process` stands on every line. Events are nouns with fields, never sentences with numbers in them. A line that
    cannot be written is lost, and whoever logged it goes on.
    """

    def name_process(_: object, __: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
        event["process"] = process
        return event

    def hide_secrets(_: object, __: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
        for name, value in event.items():
            if isinstance(value, str) and "://" in value:
                event[name] = mask_secrets(value)
        return event

    stream = BestEffortStream()
    numeric_level = logging.getLevelNamesMapping()[level.upper()]
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        name_process,
        hide_secrets,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            *shared,
            _TRACEBACKS,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(numeric_level),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", stream)),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _TRACEBACKS,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
