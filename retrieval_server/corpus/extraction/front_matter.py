"""Front matter of a Markdown file: title and metadata, in YAML or TOML above the text."""

import math
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

import frontmatter
import yaml
from frontmatter.default_handlers import BaseHandler, YAMLHandler

from retrieval_server.corpus.decode import storable
from retrieval_server.corpus.metadata import rfc3339
from retrieval_server.engine.chunkers.markdown import front_matter_end
from retrieval_server.model import MetadataValue

# The limits of the contract's MetadataValue; what is beyond them is left out.
_MAX_KEY_COUNT = 64
_MAX_KEY_BYTES = 128
_MAX_TOTAL_BYTES = 64 * 1024
_MAX_DEPTH = 3


def read_front_matter(text: str) -> tuple[str, dict[str, MetadataValue]]:
    """Return (title or "", metadata) of a Markdown text; nothing when there is no front matter or it is broken.

    Fields of fields get dotted keys, "author.name"; what is neither text, number, time nor a list of these is left out.
    """
    head = text[: front_matter_end(text)]
    if not head:
        return "", {}
    handler = _Yaml() if head.startswith(_Yaml.START_DELIMITER) else _Toml()
    try:
        fields, _ = frontmatter.parse(head, handler=handler)
    except Exception:  # it is what somebody typed: the loaders raise what they like, and the text stands by itself
        return "", {}
    metadata: dict[str, MetadataValue] = {}
    room_bytes = _MAX_TOTAL_BYTES
    for key, value in _flat(fields, "", 1):
        size = len(key.encode()) + _size_bytes(value)
        if not 0 < len(key.encode()) <= _MAX_KEY_BYTES or size > room_bytes or len(metadata) == _MAX_KEY_COUNT:
            continue
        metadata[key] = value
        room_bytes -= size
    title = metadata.get("title", "")
    return title if isinstance(title, str) else "", metadata


class _PlainLoader(yaml.CSafeLoader):  # type: ignore[misc]  # the library has no types
    """YAML without merge keys: a few lines of them can stand for a billion values."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge nothing; a merge key is then a value that has no constructor."""


class _Yaml(YAMLHandler):
    START_DELIMITER = "---"

    def load(self, fm: str, **_: object) -> Any:
        return yaml.load(fm, Loader=_PlainLoader)  # noqa: S506  derived from the safe loader


class _Toml(BaseHandler):
    FM_BOUNDARY = re.compile(r"^\+{3,}[ \t]*$", re.MULTILINE)

    def load(self, fm: str, **_: object) -> dict[str, Any]:
        return tomllib.loads(fm)


def _flat(fields: Mapping[Any, Any], prefix: str, depth: int) -> Iterator[tuple[str, MetadataValue]]:
    for name, value in fields.items():
        key = prefix + storable(str(name))
        if isinstance(value, Mapping):
            if depth < _MAX_DEPTH:
                yield from _flat(value, f"{key}.", depth + 1)
        elif isinstance(value, list):
            texts = tuple(
                str(item if type(item) is int else one) for item in value if (one := _scalar(item)) is not None
            )
            if texts:
                yield key, texts
        elif (scalar := _scalar(value)) is not None:
            yield key, scalar


def _scalar(value: Any) -> str | float | None:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return storable(value)
        case int() if abs(value) > sys.float_info.max:
            return None
        case int() | float():
            return float(value) if math.isfinite(value) else None
        case datetime():
            return rfc3339(value if value.tzinfo else value.replace(tzinfo=UTC))
        case date():
            return value.isoformat()
    return None


def _size_bytes(value: MetadataValue) -> int:
    texts = value if isinstance(value, tuple) else (value,)
    return sum(len(text.encode()) if isinstance(text, str) else 8 for text in texts)
