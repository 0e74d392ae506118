"""`generation-worker`: settings, model, then work until told to stop."""

import argparse
import asyncio
import signal
import sys
from typing import NoReturn

from pydantic import ValidationError

from generation_worker.settings import WorkerSettings
from groundwire import __version__
from groundwire.cpu import usable_core_count
from groundwire.logs import configure_logs
from groundwire.models.locate import GeneratorFile, ModelCorrupt, ModelMissing, generator_file
from groundwire.queue.redis_url import RedisUrlError, parse_redis_url

EXIT_CANNOT_START = 2


def main() -> None:
    """Run the worker; exit with 2 and one line when it cannot start."""
    parser = argparse.ArgumentParser(
        prog="generation-worker",
        description="Takes answer jobs from Redis and generates with a local model. Settings, by environment: "
        + ", ".join(f"GROUNDWIRE_{name.upper()}" for name in WorkerSettings.model_fields),
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.parse_args()
    try:
        settings = WorkerSettings()
    except ValidationError as error:
        first = error.errors()[0]
        _refuse(f"GROUNDWIRE_{str(first['loc'][0]).upper()}: {first['msg']}")
    configure_logs("generation-worker", settings.log_level)
    # Until the worker takes over: a stop while the model loads must not leave temporary files behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        parse_redis_url(settings.redis_url)  # refused before the model is loaded
        _run(settings, _generator(settings))
    except (ModelMissing, ModelCorrupt, RedisUrlError) as error:
        _refuse(str(error))


def _generator(settings: WorkerSettings) -> GeneratorFile:
    if settings.generator_path is not None:
        return GeneratorFile(settings.generator_path.stem, settings.generator_path)
    return generator_file(settings.models_dir)


def _run(settings: WorkerSettings, generator: GeneratorFile) -> None:
    # Imported late: without the model there is no need to wait for llama.cpp's libraries.
    from generation_worker.engine.llama_engine import LlamaEngine
    from generation_worker.engine.llama_model import ModelUnusableError
    from generation_worker.worker import run_worker

    try:
        engine = LlamaEngine(
            generator.path,
            model=generator.name,
            context_tokens=settings.worker_context_tokens,
            slot_count=settings.worker_slots,
            thread_count=settings.worker_threads or usable_core_count(),
            gpu_layer_count=settings.worker_gpu_layers,
        )
    except ModelUnusableError as error:
        _refuse(f"{error}; set GROUNDWIRE_GENERATOR_PATH to a GGUF chat model, or unset it to use the default one")
    asyncio.run(run_worker(settings, engine))


def _refuse(why: str) -> NoReturn:
    sys.stderr.write(f"generation-worker: {why}\n")
    raise SystemExit(EXIT_CANNOT_START)


if __name__ == "__main__":
    main()
