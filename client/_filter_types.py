"""Which documents, or passages of which documents, are meant."""

from dataclasses import dataclass
from datetime import datetime

from client._passage_types import ContentKind


@dataclass(frozen=True, slots=True)
class MetadataCondition:
    """A condition on one metadata key: `equals`, or a closed range of numbers or times; an end that is None is open."""

    key: str
    equals: str | None = None
    min_number: float | None = None
    max_number: float | None = None
    min_time: datetime | None = None
    max_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class PassageFilter:
    """All that is given must hold. Paths are globs over display paths; `**` crosses folders."""

    include_paths: tuple[str, ...] = ()
    exclude_paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    kinds: tuple[ContentKind, ...] = ()
    contains: tuple[str, ...] = ()
    metadata: tuple[MetadataCondition, ...] = ()
