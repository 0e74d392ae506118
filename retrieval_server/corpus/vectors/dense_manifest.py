"""Which vector segments a collection has, and what they were made from."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from retrieval_server.corpus.files.commit_steps import CommitStep, passed
from retrieval_server.corpus.files.durable_json import write_json

_MANIFEST = "segments.json"
_FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class VectorsOf:
    """What vectors must agree in to be compared: the encoder with the way windows are made, and the similarity."""

    encoder: str
    dimension: int
    similarity: str


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """A segment: the name of its directory, and the last chunk that it covers. It begins behind the one before it."""

    name: str
    through_chunk_id: int


def read_manifest(directory: Path, vectors_of: VectorsOf, newest_generation: int) -> tuple[SegmentEntry, ...]:
    """Return the segments, in order; none when what is there cannot be those of this collection.

    A manifest of a generation that the collection has not reached belongs to a later state, which was put back.
    """
    try:
        stored = json.loads((directory / _MANIFEST).read_text())
        same = stored["format_version"] == _FORMAT_VERSION and VectorsOf(**stored["vectors_of"]) == vectors_of
        if not same or int(stored["generation"]) > newest_generation:
            return ()
        return tuple(SegmentEntry(str(e["name"]), int(e["through_chunk_id"])) for e in stored["segments"])
    except (OSError, ValueError, LookupError, TypeError):
        return ()


def write_manifest(directory: Path, vectors_of: VectorsOf, generation: int, segments: tuple[SegmentEntry, ...]) -> None:
    """Replace the manifest: whole or not at all."""
    write_json(
        directory / _MANIFEST,
        {
            "format_version": _FORMAT_VERSION,
            "vectors_of": asdict(vectors_of),
            "generation": generation,
            "segments": [asdict(entry) for entry in segments],
        },
    )
    passed(CommitStep.MANIFEST_REPLACED)
