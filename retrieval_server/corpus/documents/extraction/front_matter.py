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

from retrieval_server.corpus.documents.decode import storable
from retrieval_server.corpus.documents.metadata import rfc3339, within_limits
from retrieval_server.engine.chunkers.markdown import front_matter_end
from retrieval_server.model import MetadataValue

_MAX_DEPTH = 3
# A few lines of YAML whose aliases nest stand for a billion fields; no more of them are looked at.
_MAX_LOOKED_AT = 10_000


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
        found = list(_flat(fields, "", 1, iter(range(_MAX_LOOKED_AT))))
    except Exception:  # it is what somebody typed: the loaders raise what they like, and the text stands by itself
        return "", {}
    metadata = within_limits(found)
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


def _flat(
    fields: Mapping[Any, Any], prefix: str, depth: int, looks: Iterator[int]
) -> Iterator[tuple[str, MetadataValue]]:
    """Yield the fields with their values; each field and each item of a list takes one of `looks`."""
    for (name, value), _ in zip(fields.items(), looks, strict=False):
        key = prefix + storable(str(name))
        if isinstance(value, Mapping):
            if depth < _MAX_DEPTH:
                yield from _flat(value, f"{key}.", depth + 1, looks)
        elif isinstance(value, list):
            texts = tuple(
                str(item if type(item) is int else one)
                for item, _ in zip(value, looks, strict=False)
                if (one := _scalar(item)) is not None
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
            return _time(value if value.tzinfo else value.replace(tzinfo=UTC))
        case date():
            return value.isoformat()
    return None


def _time(value: datetime) -> str | None:
    try:
        return rfc3339(value)
    except OverflowError:  # in UTC it is before the year 1, or after 9999
        return None
