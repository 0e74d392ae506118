"""`generation-worker`: settings, model, then work until told to stop."""

import argparse
import asyncio
from typing import NoReturn

from pydantic import ValidationError

from generation_worker.settings import WorkerSettings
from generation_worker.starting import Starting
from groundwire import __version__
from groundwire.logs import configure_logs
from groundwire.models.locate import ModelCorrupt, ModelMissing
from groundwire.queue.redis_url import RedisUrlError, parse_redis_url
from groundwire.standard_streams import BestEffortStream, open_missing_streams

EXIT_CANNOT_START = 2


def main() -> None:
    """Run the worker; exit with 2 and one line when it cannot start."""
    open_missing_streams()
    starting = Starting()
    parser = argparse.ArgumentParser(
        prog="generation-worker",
        description="Takes answer jobs from Redis and generates, here or elsewhere. Settings, by environment: "
        + ", ".join(f"GROUNDWIRE_{name.upper()}" for name in WorkerSettings.model_fields),
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.parse_args()
    try:
        settings = WorkerSettings()
    except ValidationError as error:
        first = error.errors()[0]
        name = f"GROUNDWIRE_{str(first['loc'][0]).upper()}: " if first["loc"] else ""
        _refuse(f"{name}{first['msg'].removeprefix('Value error, ')}")
    configure_logs("generation-worker", settings.log_level)
    try:
        parse_redis_url(settings.redis_url)  # refused before the model is loaded
        _run(settings, starting)
    except (ModelMissing, ModelCorrupt, RedisUrlError) as error:
        _refuse(str(error))


def _run(settings: WorkerSettings, starting: Starting) -> None:
    # Imported late: without llama.cpp, which is looked for when it is needed, all of this is soon said to be wrong.
    from generation_worker.backends.configured import configured_backends
    from generation_worker.engine.model_unusable import ModelUnusableError
    from generation_worker.worker import run_worker

    try:
        with starting.loading():
            backends = configured_backends(settings)
    except ModelUnusableError as error:
        _refuse(f"{error}; set GROUNDWIRE_GENERATOR_PATH to a GGUF chat model, or unset it to use the default one")
    asyncio.run(run_worker(settings, backends))


def _refuse(why: str) -> NoReturn:
    BestEffortStream().write(f"generation-worker: {why}\n")
    raise SystemExit(EXIT_CANNOT_START)


if __name__ == "__main__":
    main()
