"""Puts the parts of the server together and serves until SIGTERM or SIGINT."""

import asyncio
import contextlib
import signal
import sys

import structlog

from groundwire.cpu import usable_core_count
from groundwire.models.locate import encoder_files
from retrieval_server.api.admin_servicer import AdminServicer
from retrieval_server.api.answer_servicer import AnswerServicer
from retrieval_server.api.corpus_servicer import CorpusServicer
from retrieval_server.api.retrieval_servicer import RetrievalServicer
from retrieval_server.api.server import ApiServer
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.searching import Searching
from retrieval_server.engine.encoder import MiniLmEncoder
from retrieval_server.errors import GroundwireError
from retrieval_server.generation.answer_queue import AnswerQueue
from retrieval_server.generation.answering import Answering
from retrieval_server.listen_address import check_listen_address
from retrieval_server.settings import ServerSettings

_log = structlog.get_logger()

# Encoding threads need the interpreter for an instant between runs of a few milliseconds; at the default of 5 ms they
# would wait longer for it than they work, and so would requests.
_SWITCH_INTERVAL_S = 0.0005


class CannotStart(Exception):
    """One line: what is wrong and how to mend it."""


async def serve(settings: ServerSettings) -> None:
    """Serve until told to stop, then drain."""
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    check_listen_address(settings.listen, allow_insecure=settings.allow_insecure_listen)
    encoder, encoder_label = _encoder(settings)
    catalog = Catalog(settings.data_dir, encoder)
    try:
        await catalog.open_all()
    except GroundwireError as error:
        raise CannotStart(error.message) from error
    queue = AnswerQueue(
        settings.redis_url,
        partition_count=settings.queue_partition_count,
        max_depth=settings.max_queue_depth,
        lease_s=settings.lease_s,
        max_deliveries=settings.max_deliveries,
        ttl_s=settings.answer_ttl_s,
    )
    searching = Searching(catalog, encoder)
    answering = Answering(searching.retrieve, queue, settings)
    server = ApiServer(
        settings,
        RetrievalServicer(searching, settings),
        AnswerServicer(answering, settings),
        CorpusServicer(catalog, encoder_label, settings),  # type: ignore[abstract]  # as EvaluationServicer
        AdminServicer(settings, queue),
    )
    try:
        address = await server.start()
    except RuntimeError as error:
        await catalog.close()
        raise CannotStart(
            f"cannot listen on {settings.listen}: the port is in use or not allowed; set GROUNDWIRE_LISTEN to another"
        ) from error
    reaper = asyncio.create_task(queue.run_reaper(), name="reaper")
    _log.info("server ready", address=address, collections=catalog.names(), encoder=encoder_label)
    await stopping.wait()
    _log.info("server stopping")
    await server.stop()
    reaper.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reaper
    await answering.close()
    await queue.close()
    searching.close()
    await catalog.close()
    if encoder is not None:
        encoder.close()
    _log.info("server stopped")


def _encoder(settings: ServerSettings) -> tuple[MiniLmEncoder | None, str]:
    if settings.lexical_only:
        return None, ""
    files = encoder_files(settings.models_dir)
    encoder = MiniLmEncoder(files, settings.encoder_threads or usable_core_count())
    return encoder, f"{files.name} {files.fingerprint[:12]}"
