"""Puts the parts of the server together and serves until SIGTERM or SIGINT."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable

import structlog

from groundwire.cpu import usable_core_count
from groundwire.models.locate import encoder_files
from groundwire.queue.redis_url import parse_redis_url
from retrieval_server.api.admin_servicer import AdminServicer
from retrieval_server.api.answer_servicer import AnswerServicer
from retrieval_server.api.corpus_servicer import CorpusServicer
from retrieval_server.api.evaluation_servicer import EvaluationServicer
from retrieval_server.api.retrieval_servicer import RetrievalServicer
from retrieval_server.api.server import ApiServer
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.following import Following
from retrieval_server.corpus.searching.searching import Searching
from retrieval_server.corpus.snapshotting import Snapshotting
from retrieval_server.engine.encoding.encoder import Encoder, MiniLmEncoder
from retrieval_server.engine.encoding.hashing_encoder import HashingEncoder
from retrieval_server.engine.ranking.cross_encoder import CrossEncoder
from retrieval_server.errors import GroundwireError
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.cache.answer_cache import NearQuestions
from retrieval_server.generation.jobs.answer_queue import AnswerQueue
from retrieval_server.listen_address import check_listen_address
from retrieval_server.metrics import Metrics
from retrieval_server.settings import ServerSettings

# A query makes some thousands of objects, nearly all of which go with it.
_YOUNG_OBJECTS = 20_000
_log = structlog.get_logger()

# Encoding threads need the interpreter for an instant between runs of a few milliseconds; at the default of 5 ms they
# would wait longer for it than they work, and so would requests.
_SWITCH_INTERVAL_S = 0.0005

# Of the time to drain, what is kept for telling the callers of unfinished answers to attach elsewhere.
_LET_GO_S = 3.0


class CannotStart(Exception):
    """One line: what is wrong and how to mend it."""


async def serve(settings: ServerSettings) -> None:
    """Serve until told to stop, then drain."""
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    _when_told_to_stop(_leave)
    parse_redis_url(settings.redis_url)  # refused before anything is loaded
    check_listen_address(settings.listen, allow_insecure=settings.allow_insecure_listen)
    if settings.metrics_listen is not None:
        check_listen_address(
            settings.metrics_listen,
            allow_insecure=settings.allow_insecure_listen,
            setting="GROUNDWIRE_METRICS_LISTEN",
        )
    _check_similarity_is_used(settings)
    encoder, encoder_label = _encoder(settings)
    cross_encoder = _cross_encoder(settings)
    catalog = Catalog(
        settings.data_dir,
        encoder,
        is_read_only=settings.follow_dir is not None,
        known_terms_bytes=settings.known_terms_bytes,
    )
    try:
        await catalog.open_all()
    except GroundwireError as error:
        raise CannotStart(error.message) from error
    following = Following(catalog, settings.follow_dir, settings.follow_interval_s) if settings.follow_dir else None
    if following is not None:
        await following.catch_up()
    queue = AnswerQueue(
        settings.redis_url,
        partition_count=settings.queue_partition_count,
        max_depth=settings.max_queue_depth,
        lease_s=settings.lease_s,
        max_deliveries=settings.max_deliveries,
        ttl_s=settings.answer_ttl_s,
        max_share=settings.max_queue_share,
        cache_ttl_s=settings.answer_cache_ttl_s,
        near_questions=_near_questions(settings, encoder),
    )
    searching = Searching(catalog, encoder, cross_encoder, remembers=settings.remember_queries)
    snapshotting = Snapshotting(catalog, settings.snapshot_dir or settings.data_dir / "snapshots")
    metrics = _metrics(settings, searching)
    answering = Answering(searching.retrieve, queue, settings)
    server = ApiServer(
        settings,
        RetrievalServicer(searching, settings),
        AnswerServicer(answering, settings),
        CorpusServicer(catalog, snapshotting, encoder_label, settings),
        AdminServicer(settings, queue),
        # The stub's type asks for every method; those of later versions keep the default, see RpcInterceptor.
        EvaluationServicer(catalog, searching, settings),  # type: ignore[abstract]
        metrics,
    )
    stopping = asyncio.Event()
    _when_told_to_stop(stopping.set)
    try:
        address = await server.start()
    except RuntimeError as error:
        await catalog.close()
        raise CannotStart(
            f"cannot listen on {settings.listen}: the port is in use or not allowed; set GROUNDWIRE_LISTEN to another"
        ) from error
    background = [
        asyncio.create_task(queue.run_reaper(), name="reaper"),
        asyncio.create_task(snapshotting.sweep(), name="sweep"),
    ]
    if following is not None:
        background.append(asyncio.create_task(following.run(), name="following"))
    # What was made up to here stays, and is much: full collections would stop a query for milliseconds to look at it.
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS)
    _log.info("server ready", address=address, collections=catalog.names(), encoder=encoder_label)
    await stopping.wait()
    _log.info("server stopping")
    if not settings.drain_timeout_s:
        answering.let_go()  # or the calls that are cut off now would cancel their jobs
    stopping_server = asyncio.create_task(server.stop())
    await asyncio.wait(
        (stopping_server,), timeout=settings.drain_timeout_s - min(_LET_GO_S, settings.drain_timeout_s / 2)
    )
    answering.let_go()
    await stopping_server
    for task in background:
        task.cancel()
    await asyncio.wait(background)
    await answering.close()
    await queue.close()
    searching.close()
    await catalog.close()
    for model in (encoder, cross_encoder):
        if model is not None:
            model.close()
    _log.info("server stopped")


def _when_told_to_stop(callback: Callable[[], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, callback)


def _leave() -> None:
    """End the process at once: nobody is served yet.

    A collection that is being opened may take minutes to catch up, on a thread that cannot be interrupted. Files are
    changed in steps between any two of which the process may die; this is one more way to.
    """
    _log.info("server stopped", was_ready=False)
    os._exit(0)


def _metrics(settings: ServerSettings, searching: Searching) -> Metrics:
    metrics = Metrics()
    metrics.watch_caches(searching.cache_counts)
    if settings.metrics_listen is None:
        return metrics
    host, _, port = settings.metrics_listen.rpartition(":")
    try:
        served, _ = metrics.serve(host.strip("[]"), int(port))
    except OSError as error:
        raise CannotStart(
            f"cannot listen on {settings.metrics_listen} ({error.strerror}); set GROUNDWIRE_METRICS_LISTEN to another"
        ) from error
    _log.info("metrics ready", address=f"{host}:{served.server_port}")
    return metrics


def _check_similarity_is_used(settings: ServerSettings) -> None:
    if settings.answer_cache_similarity is None:
        return
    if settings.lexical_only:
        raise CannotStart("GROUNDWIRE_ANSWER_CACHE_SIMILARITY needs the encoder: unset it or GROUNDWIRE_LEXICAL_ONLY")
    if not settings.answer_cache_ttl_s:
        raise CannotStart(
            "GROUNDWIRE_ANSWER_CACHE_SIMILARITY needs kept answers: unset it, or raise GROUNDWIRE_ANSWER_CACHE_TTL_S"
        )


def _near_questions(settings: ServerSettings, encoder: Encoder | None) -> NearQuestions | None:
    threshold = settings.answer_cache_similarity
    if threshold is None or encoder is None:
        return None

    def compare(question: str, others: list[str]) -> list[float]:
        vector = encoder.encode_query(question)
        return [float(vector @ encoder.encode_query(other)) for other in others]

    async def similarities(question: str, others: list[str]) -> list[float]:
        return await asyncio.to_thread(compare, question, others)

    return NearQuestions(similarities, threshold)


def _encoder(settings: ServerSettings) -> tuple[MiniLmEncoder | HashingEncoder | None, str]:
    if settings.lexical_only:
        return None, ""
    if settings.encoder == "hashing":
        return HashingEncoder(), HashingEncoder.fingerprint
    files = encoder_files(settings.models_dir)
    encoder = MiniLmEncoder(files, settings.encoder_threads or usable_core_count())
    return encoder, f"{files.name} {files.fingerprint[:12]}"


def _cross_encoder(settings: ServerSettings) -> CrossEncoder | None:
    if settings.cross_encoder is None:
        return None
    return CrossEncoder(settings.cross_encoder, settings.encoder_threads or usable_core_count())
