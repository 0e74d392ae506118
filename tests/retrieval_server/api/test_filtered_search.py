"""Filters, hops and balance over the wire; text of every script and form is found."""

import hashlib
import unicodedata
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest

from groundwire.v1 import filter_pb2, passage_pb2, retrieval_service_pb2
from tests.retrieval_server.api.support import Services, details, running_server
from tests.retrieval_server.api.sync_support import Batch, sync

Filter = filter_pb2.PassageFilter
Condition = filter_pb2.MetadataCondition
HASH = hashlib.sha256(b"one commit").hexdigest()[:60]
OTHER_HASH = hashlib.sha256(b"another commit").hexdigest()[:60]


@asynccontextmanager
async def serving(directory: Path, files: Mapping[str, str]) -> AsyncIterator[Services]:
    async with running_server(directory) as services:
        await sync(services, {path: text.encode() for path, text in files.items()})
        yield services


async def found(services: Services, query: str, **fields: object) -> list[str]:
    request = retrieval_service_pb2.RetrieveRequest(query=query, **fields)  # type: ignore[arg-type]
    request.fusion.dense_weight = 0
    return [p.path.removeprefix("src/") for p in (await services.retrieval.Retrieve(request)).passages]


async def test_text_of_any_script_and_form_is_found(tmp_path: Path):
    files = {
        "tokyo.md": "東京の港湾局は夜間の入港を制限する。",
        "korean.md": "서울의 항구는 밤에 닫힌다",
        "emoji.md": "deploys are announced with 🚀 in the channel",
        "composed.md": "Das Café am Zürichsee öffnet früh",
        "decomposed.md": unicodedata.normalize("NFD", "Der Škoda stand am Ring von Plzeň"),
        "commit.md": f"the fault came with {HASH} and was gone a day later",
        "other.md": f"released as {OTHER_HASH}",
        "cyrillic.md": "Погода в порту меняется быстро",
    }
    async with serving(tmp_path, files) as services:
        for query, path in {
            "東京": "tokyo.md",
            "入港の制限": "tokyo.md",
            "항구": "korean.md",
            "погода": "cyrillic.md",
            "Zürichsee": "composed.md",
            unicodedata.normalize("NFD", "Zürichsee"): "composed.md",
            "Škoda": "decomposed.md",
            unicodedata.normalize("NFD", "plzeň"): "decomposed.md",
            HASH: "commit.md",
            HASH.upper(): "commit.md",
            f"what is {OTHER_HASH}?": "other.md",
            "🚀": "emoji.md",
            "港": "tokyo.md",
        }.items():
            assert (await found(services, query, k=1)) == [path], query
        assert (await found(services, "the in", filter=Filter(contains=["🚀"]))) == ["emoji.md"]
        assert (await found(services, "ring", filter=Filter(contains=["Škoda"]))) == ["decomposed.md"]
        assert (await found(services, "港湾", filter=Filter(contains=["東京"]))) == ["tokyo.md"]


async def test_paths_of_either_normal_form_match_globs_of_either(tmp_path: Path):
    files = {unicodedata.normalize("NFD", "größe/über.md"): "alpha", "plain.md": "alpha"}
    async with serving(tmp_path, files) as services:
        for form in ("NFC", "NFD"):
            glob = unicodedata.normalize(form, "**/größe/*.md")
            assert len(await found(services, "alpha", filter=Filter(include_paths=[glob]))) == 1


async def test_conditions_on_metadata_restrict_a_search(tmp_path: Path):
    files = {
        "a.md": "---\nauthor: Ada\nyear: 2021\ntags: [x, y]\nwhen: 2021-03-01\n---\nalpha",
        "b.md": "---\nauthor: Bob\nyear: 2023\ntags: [y]\nwhen: 2023-03-01\n---\nalpha",
        "c.md": "alpha",
    }
    async with serving(tmp_path, files) as services:

        async def meeting(*conditions: filter_pb2.MetadataCondition) -> list[str]:
            return sorted(await found(services, "alpha", filter=Filter(metadata=conditions)))

        assert await meeting(Condition(key="author", equals="Ada")) == ["a.md"]
        assert await meeting(Condition(key="year", equals="2023")) == ["b.md"]
        assert await meeting(Condition(key="year", range=filter_pb2.NumberRange(min=2020))) == ["a.md", "b.md"]
        assert await meeting(Condition(key="tags", equals="x"), Condition(key="tags", equals="y")) == ["a.md"]
        times = filter_pb2.TimeRange()
        times.min.FromJsonString("2022-01-01T00:00:00Z")
        assert await meeting(Condition(key="when", time_range=times)) == ["b.md"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"filter": Filter(include_paths=["a["])}, "filter.include_paths"),
        ({"filter": Filter(languages=["pyhton"])}, "filter.languages"),
        ({"filter": Filter(metadata=[Condition(key="no", equals="x")])}, "filter.metadata[0].key"),
        ({"filter": Filter(exclude_paths=["**"])}, "filter.exclude_paths"),
        ({"balance": True, "filter": Filter(kinds=[passage_pb2.CONTENT_KIND_DOCS])}, "balance"),
        ({"hops": 3}, "hops"),
    ],
)
async def test_bad_input_names_its_field_in_a_call_and_in_an_item(
    tmp_path: Path, fields: dict[str, object], field: str
):
    async with serving(tmp_path, {"a.md": "alpha"}) as services:
        request = retrieval_service_pb2.RetrieveRequest(query="alpha", **fields)  # type: ignore[arg-type]
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.retrieval.Retrieve(request)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert [v.field for v in details(caught.value)["BadRequest"].field_violations] == [field]
        items = [
            Batch(config={}),
            Batch(item={"item_index": 1, "retrieve": request}),
            Batch(item={"item_index": 2, "retrieve": {"query": "alpha"}}),
        ]
        responses = {r.item_index: r async for r in services.retrieval.BatchRetrieve(iter(items))}
        assert [v.field for v in responses[1].status.field_violations] == [f"item.retrieve.{field}"]
        assert responses[2].status.code == 0


async def test_hops_and_balance_cross_the_wire(tmp_path: Path):
    files = {
        "who.md": "The night report is written by `gull`.",
        "gull.toml": 'program = "gull"\nport = 9100\n',
        "tern.toml": 'program = "tern"\nport = 9200\n',
        "rook.toml": 'program = "rook"\nport = 9300\n',
        "report.md": "A report is read before the port opens.",
        "code.py": "def night_report():\n    return 'report'\n",
    }
    async with serving(tmp_path, files) as services:
        request = retrieval_service_pb2.RetrieveRequest(query="Which port has the night report?", k=3, hops=2)
        response = await services.retrieval.Retrieve(request)
        assert "gull" in response.second_hop.introduced_terms
        assert {"src/who.md", "src/gull.toml"} <= {p.path for p in response.passages}
        assert [p.hop for p in response.passages[:2]] == [1, 2]
        response = await services.retrieval.Retrieve(
            retrieval_service_pb2.RetrieveRequest(query="night report", k=4, balance=True)
        )
        assert not response.HasField("second_hop")
        assert passage_pb2.CONTENT_KIND_CODE in {p.kind for p in response.passages[:2]}
