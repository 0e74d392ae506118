"""Where the model files lie, and whether what lies there is what it should be."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import platformdirs

from groundwire.models.registry import ENCODER, GENERATOR, TOKENIZER_NAME, Model

INT8_NAME = "model.int8.onnx"
FP32_NAME = "model.fp32.onnx"
MANIFEST_NAME = "export.json"

_HOW_TO_GET = (
    "run `make models` (or `python -m groundwire.models`), or set GROUNDWIRE_MODELS_DIR to a folder that has the models"
)


class ModelMissing(Exception):
    """A model file is not there; the message is one line and says how to get it."""


class ModelCorrupt(Exception):
    """A model file is not the one that was published or exported; the message is one line."""


@dataclass(frozen=True, slots=True)
class ExportManifest:
    """What an export was made from and what it made; written last, so its presence means that the export is whole."""

    exporter_version: int
    weights_sha256: str
    tokenizer_sha256: str
    fp32_sha256: str
    int8_sha256: str
    fingerprint: str

    def to_json(self) -> str:
        """Return the manifest as it is stored."""
        return json.dumps(asdict(self), indent=2) + "\n"


@dataclass(frozen=True, slots=True)
class EncoderFiles:
    """The encoder to load. Vectors of different fingerprints must never be mixed."""

    name: str
    model: Path
    tokenizer: Path
    fingerprint: str


@dataclass(frozen=True, slots=True)
class GeneratorFile:
    """The generator to load."""

    name: str
    path: Path


def default_models_dir() -> Path:
    """Return the folder for models in the user's cache."""
    return Path(platformdirs.user_cache_dir("groundwire", appauthor=False)) / "models"


def model_dir(models_dir: Path, model: Model) -> Path:
    """Return the folder of one model."""
    return models_dir / model.name


def encoder_fingerprint(model_sha256: str, tokenizer_sha256: str) -> str:
    """Return what identifies an encoder's vectors: a sha256 over those of its graph and of its tokenizer."""
    return hashlib.sha256(f"{model_sha256}\n{tokenizer_sha256}\n".encode()).hexdigest()


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_manifest(folder: Path) -> ExportManifest | None:
    """Return the manifest of a whole export, or None when there is none that this version can read."""
    try:
        return ExportManifest(**json.loads((folder / MANIFEST_NAME).read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (TypeError, ValueError):
        return None


def encoder_files(models_dir: Path | None) -> EncoderFiles:
    """Return the exported encoder below `models_dir` (default: the user's cache), its checksums verified.

    The int8 graph and the tokenizer are small enough (24 MB) to be hashed at every start.

    Raises:
        ModelMissing: a file is absent or cannot be read.
        ModelCorrupt: a file differs from what the export wrote.
    """
    folder = model_dir(models_dir or default_models_dir(), ENCODER)
    model, tokenizer = folder / INT8_NAME, folder / TOKENIZER_NAME
    for path in (folder / MANIFEST_NAME, model, tokenizer):
        _require(ENCODER, path)
    manifest = read_manifest(folder)
    if manifest is None:
        raise ModelCorrupt(f"{folder / MANIFEST_NAME} is not readable as an export manifest: {_HOW_TO_GET}")
    _check(model, manifest.int8_sha256)
    _check(tokenizer, manifest.tokenizer_sha256)
    return EncoderFiles(ENCODER.name, model, tokenizer, manifest.fingerprint)


def generator_file(models_dir: Path | None) -> GeneratorFile:
    """Return the default generator below `models_dir` (default: the user's cache), its checksum verified.

    Raises:
        ModelMissing: the file is absent or cannot be read.
        ModelCorrupt: the file differs from the published one.
    """
    published = GENERATOR.files[0]
    path = model_dir(models_dir or default_models_dir(), GENERATOR) / published.name
    _require(GENERATOR, path)
    _check(path, published.sha256)
    return GeneratorFile(GENERATOR.name, path)


def _require(model: Model, path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise ModelMissing(
            f"the {model.role.value} {model.name} is not usable: {path}: {error.strerror}; {_HOW_TO_GET}"
        ) from error


def _check(path: Path, sha256: str) -> None:
    found = sha256_of(path)
    if found != sha256:
        raise ModelCorrupt(f"{path} is not the expected file: sha256 {found} instead of {sha256}; {_HOW_TO_GET}")
