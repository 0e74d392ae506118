"""Limits on what is set on a document, the same wherever it comes from, and of all that is set together."""

from pathlib import Path
from typing import Any

from google.protobuf import field_mask_pb2

from groundwire.v1 import document_pb2, metadata_pb2
from tests.retrieval_server.api.support import Services, refused_field, running_server

KEYS, KEY_BYTES, TOTAL_BYTES = 64, 128, 64 * 1024
KEY = document_pb2.DocumentKey(relative_path="a.md")


def text(value: str) -> metadata_pb2.MetadataValue:
    return metadata_pb2.MetadataValue(text=value)


def listed(*texts: str) -> metadata_pb2.MetadataValue:
    return metadata_pb2.MetadataValue(list=metadata_pb2.MetadataList(texts=texts))


BEYOND = {
    "keys": ({f"k{i}": text("v") for i in range(KEYS + 1)}, "metadata"),
    "key": ({"k" * (KEY_BYTES + 1): text("v")}, "metadata"),
    "no key": ({"": text("v")}, "metadata"),
    "value": ({"big": text("ä" * (TOTAL_BYTES // 2))}, "metadata['big']"),
    "list": ({"big": listed(*[""] * TOTAL_BYTES)}, "metadata['big']"),
    "total": ({"a": text("v" * (TOTAL_BYTES // 2)), "b": text("v" * (TOTAL_BYTES // 2))}, "metadata"),
}


async def put(services: Services, content: str = "alpha", **fields: Any) -> document_pb2.Document:
    return (
        await services.corpus.PutDocument(document_pb2.PutDocumentRequest(key=KEY, text=content, **fields))
    ).document


async def update(services: Services, document: document_pb2.Document, *paths: str, **fields: Any) -> Any:
    mask = field_mask_pb2.FieldMask(paths=paths)
    request = document_pb2.UpdateDocumentRequest(document_id=document.document_id, update_mask=mask, **fields)
    return (await services.corpus.UpdateDocument(request)).document


async def test_what_is_beyond_a_limit_is_refused_by_name_wherever_it_comes_from(tmp_path: Path):
    async with running_server(tmp_path) as services:
        made = await put(services, metadata={"old": text("1")})
        for metadata, field in BEYOND.values():
            assert await refused_field(put(services, metadata=metadata)) == field
            assert await refused_field(update(services, made, "metadata", metadata=metadata)) == field
            masked = [f"metadata.{key}" for key in metadata if 0 < len(key) <= KEY_BYTES] or ["title"]
            assert await refused_field(update(services, made, *masked, metadata=metadata)) == field
        for mask in (["metadata." + "k" * (KEY_BYTES + 1)], [f"metadata.{i}" for i in range(300)], ["metadata."]):
            assert await refused_field(update(services, made, *mask)) == "update_mask"
        got = (await services.corpus.GetDocument(document_pb2.GetDocumentRequest(path="a.md"))).document
        assert got == made


async def test_what_is_at_the_limits_is_taken(tmp_path: Path):
    async with running_server(tmp_path) as services:
        most = {f"{i:0{KEY_BYTES}d}": text("v" * (TOTAL_BYTES // KEYS - KEY_BYTES)) for i in range(KEYS)}
        made = await put(services, metadata=most)
        assert dict(made.metadata) == most


async def test_changes_one_by_one_do_not_add_up_beyond_the_limits(tmp_path: Path):
    async with running_server(tmp_path) as services:
        made = await put(services, metadata={f"k{i}": text("v") for i in range(KEYS)})
        assert await refused_field(update(services, made, "metadata.new", metadata={"new": text("v")})) == "metadata"
        made = await update(services, made, "metadata.new", "metadata.k0", metadata={"new": text("v")})
        assert len(made.metadata) == KEYS
        assert "k0" not in made.metadata
        half = text("v" * (TOTAL_BYTES // 2 + 1))
        made = await update(services, made, "metadata", metadata={"one": half})
        assert await refused_field(update(services, made, "metadata.two", metadata={"two": half})) == "metadata"
        made = await update(services, made, "metadata.one", "metadata.two", metadata={"two": half})
        assert set(made.metadata) == {"two"}


async def test_what_a_document_says_of_itself_leaves_room_for_what_is_set(tmp_path: Path):
    async with running_server(tmp_path) as services:
        fields = "".join(f"f{i}: said\n" for i in range(KEYS))
        made = await put(services, f"---\n{fields}---\n# A\n\nalpha", metadata={f"k{i}": text("v") for i in range(10)})
        assert len(made.metadata) == KEYS
        assert {f"k{i}" for i in range(10)} <= set(made.metadata)
        made = await update(services, made, "metadata.big", metadata={"big": text("v" * (TOTAL_BYTES - 200))})
        assert sum(len(key) + len(value.text) for key, value in made.metadata.items()) <= TOTAL_BYTES
        made = await update(services, made, "metadata")
        assert set(made.metadata) == {f"f{i}" for i in range(KEYS)}
