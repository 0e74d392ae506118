"""`python -m groundwire.models`: fetches, checks and exports the default models. A second run only checks."""

import contextlib
import fcntl
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from pydantic_settings import BaseSettings, SettingsConfigDict

from groundwire.models.atomic import remove_leftovers
from groundwire.models.export import export_encoder, is_exported
from groundwire.models.fetch import FetchFailed, absent_files, fetch_files
from groundwire.models.locate import ModelCorrupt, default_models_dir, model_dir
from groundwire.models.registry import DEFAULT_MODELS, Model, Role

_LOCK_NAME = ".lock"


class ModelsSettings(BaseSettings):
    """GROUNDWIRE_MODELS_DIR alone."""

    model_config = SettingsConfigDict(env_prefix="GROUNDWIRE_", env_ignore_empty=True, frozen=True, extra="ignore")

    models_dir: Path | None = None


@click.command(help="Put the default models in the models folder (GROUNDWIRE_MODELS_DIR, else the user's cache).")
@click.option(
    "--only",
    type=click.Choice([role.value for role in Role]),
    help="Only the model of this role: a machine of workers needs no encoder, one of servers no generator.",
)
def main(only: str | None) -> None:
    """Make every chosen model ready; a failure is one line on standard error and exit code 2."""
    models_dir = ModelsSettings().models_dir or default_models_dir()
    models = [model for model in DEFAULT_MODELS if only in (None, model.role.value)]
    try:
        for model in models:
            if not _is_ready(models_dir, model):
                _make_ready(models_dir, model)
            click.echo(f"{model.name} ({model.role.value}, {model.licence}) is ready in {model_dir(models_dir, model)}")
    except (FetchFailed, ModelCorrupt) as error:
        _fail(str(error))
    except OSError as error:
        where = error.filename or models_dir
        _fail(f"{where}: {error.strerror}; GROUNDWIRE_MODELS_DIR names a folder elsewhere (about 400 MB are needed)")


def _is_ready(models_dir: Path, model: Model) -> bool:
    return not absent_files(models_dir, model, click.echo) and _is_exported(models_dir, model)


def _is_exported(models_dir: Path, model: Model) -> bool:
    sources = {file.name: file.sha256 for file in model.files}
    return model.role is not Role.ENCODER or is_exported(model_dir(models_dir, model), sources)


def _make_ready(models_dir: Path, model: Model) -> None:
    if model.role is Role.ENCODER and importlib.util.find_spec("onnx") is None:
        raise FetchFailed(
            "the encoder's export needs the server's packages: `pip install 'groundwire[server]'`, "
            "or get the generator alone with --only generator"
        )
    with _sole_writer(models_dir):
        remove_leftovers(model_dir(models_dir, model))
        # Looked at again: another run may have done the work while this one waited.
        if absent := absent_files(models_dir, model, click.echo):
            fetch_files(models_dir, model, absent)
        if not _is_exported(models_dir, model):
            click.echo(f"Exporting {model.name} to ONNX…")
            export_encoder(model_dir(models_dir, model))


@contextlib.contextmanager
def _sole_writer(models_dir: Path) -> Iterator[None]:
    """Hold the folder's lock, which the system releases however this process ends."""
    models_dir.mkdir(parents=True, exist_ok=True)
    with (models_dir / _LOCK_NAME).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            click.echo(f"Waiting for another run that is filling {models_dir}…")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fail(message: str) -> None:
    click.echo(f"groundwire.models: {' '.join(message.split())}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
