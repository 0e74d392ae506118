"""Callers that leave while their response is sent, which gRPC logs as faults of the server."""

import logging

import grpc

# grpc.aio names its logger so; a filter counts for the logger that has it alone, not for those below it.
_GRPC_LOG = logging.getLogger("grpc._cython.cygrpc")


def _is_fault(record: logging.LogRecord) -> bool:
    """Whether a record of gRPC's is of anything but a write that failed since its call was over.

    gRPC leaves such records out itself, unless the write fails before word of the caller's leaving has come. What our
    own code raises never gets there: the interceptor has logged it.
    """
    return record.exc_info is None or not isinstance(record.exc_info[1], grpc.aio.InternalError)


def ignore_departed_callers() -> None:
    """Keep them out of the log, whose line for the call is there anyway. Once or more often is the same."""
    _GRPC_LOG.addFilter(_is_fault)
