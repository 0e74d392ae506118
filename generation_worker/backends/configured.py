"""The backends that the settings name."""

import os
from urllib.parse import urlsplit

import structlog

from generation_worker.backends.circuit_breaker import CircuitBreaker
from generation_worker.backends.ordered import GuardedBackend, OrderedBackends
from generation_worker.engine_thread import EngineThread
from generation_worker.settings import WorkerSettings
from groundwire.cpu import usable_core_count
from groundwire.models.locate import GeneratorFile, generator_file

log = structlog.get_logger()

_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))


def configured_backends(settings: WorkerSettings) -> OrderedBackends:
    """Return the backends in their order; the local model is loaded, if it is among them.

    Raises:
        ModelMissing, ModelCorrupt: the default model is not there as it should be.
        ModelUnusableError: llama.cpp cannot use the model's file.
    """
    return OrderedBackends([_openai(settings) if name == "openai" else _llama(settings) for name in settings.backends])


def _llama(settings: WorkerSettings) -> GuardedBackend:
    generator = _generator(settings)
    # Imported late: without the model there is no need to wait for llama.cpp's libraries.
    from generation_worker.engine.llama_engine import LlamaEngine

    engine = LlamaEngine(
        generator.path,
        model=generator.name,
        context_tokens=settings.worker_context_tokens,
        slot_count=settings.worker_slots,
        thread_count=settings.worker_threads or usable_core_count(),
        gpu_layer_count=settings.worker_gpu_layers,
    )
    return GuardedBackend(EngineThread(engine))


def _generator(settings: WorkerSettings) -> GeneratorFile:
    if settings.generator_path is not None:
        # Callers are told the name, and that is text, which a file's name need not be.
        name = os.fsencode(settings.generator_path.stem).decode(errors="replace")
        return GeneratorFile(name, settings.generator_path)
    return generator_file(settings.models_dir)


def _openai(settings: WorkerSettings) -> GuardedBackend:
    # Imported late, as above: most workers speak to nobody.
    from generation_worker.backends.openai_backend import OpenAiBackend, RemoteModel

    key, url = settings.openai_api_key, settings.openai_url or ""
    if key is not None and urlsplit(url).scheme == "http" and urlsplit(url).hostname not in _LOOPBACK:
        log.warning("api key sent unencrypted", url=url)
    remote = RemoteModel(
        url=url,
        model=settings.openai_model or "",
        api_key=None if key is None else key.get_secret_value(),
        context_tokens=settings.worker_context_tokens,
        silence_timeout_s=settings.openai_silence_timeout_s,
        extra=settings.openai_extra,
    )
    breaker = CircuitBreaker(failure_limit=settings.backend_failure_limit, cooldown_s=settings.backend_cooldown_s)
    return GuardedBackend(OpenAiBackend(remote, slot_count=settings.worker_slots), breaker)
