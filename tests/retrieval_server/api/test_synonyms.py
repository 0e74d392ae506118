"""Synonym tables over the wire, and the list that they add to a search."""

import math
from pathlib import Path

import grpc
import pytest

from groundwire.v1 import retrieval_service_pb2, synonyms_pb2
from tests.retrieval_server.api.support import Services, details, running_server
from tests.retrieval_server.api.sync_support import sync

FILES = {
    "a.md": b"tensor parallelism splits each layer over several devices",
    "b.md": b"TP of a training run is written in its header",
    "c.md": b"something else",
}
Group = synonyms_pb2.SynonymGroup


async def put(services: Services, **fields: object) -> None:
    await services.corpus.PutSynonymTable(synonyms_pb2.PutSynonymTableRequest(**fields))  # type: ignore[arg-type]


async def search(services: Services, query: str, **fields: object) -> retrieval_service_pb2.RetrieveResponse:
    constants = {"lexical_weight": 3, "dense_weight": 0, "expanded_weight": 1, "rank_constant": 5} | fields
    fusion = retrieval_service_pb2.FusionOverrides(**constants)  # type: ignore[arg-type]
    request = retrieval_service_pb2.RetrieveRequest(query=query, fusion=fusion, explain=True)
    return await services.retrieval.Retrieve(request)


async def test_a_table_finds_what_the_query_does_not_say_and_its_list_is_explained(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, FILES)
        assert [p.path for p in (await search(services, "TP")).passages] == ["src/b.md"]
        await put(services, toml='[two_way]\nTP = "tensor parallelism"')
        found = {p.path: p for p in (await search(services, "TP")).passages}
        assert set(found) == {"src/a.md", "src/b.md"}
        only_expanded = found["src/a.md"]
        assert [one.list for one in only_expanded.list_scores] == ["bm25", "bm25_expanded", "dense"]
        original, expanded, _ = only_expanded.list_scores
        assert (original.rank, list(original.matched_terms)) == (0, [])
        assert (expanded.rank, list(expanded.matched_terms)) == (1, ["tensor", "parallel"])
        assert expanded.contribution == pytest.approx(1 / (5 + 1))
        # In both lists: Σ weight / (rank_constant + rank), with weights 3 and 1, times what ranks forget.
        both = found["src/b.md"]
        by_rank = 3 / (5 + 1) + 1 / (5 + 2)
        assert sum(one.contribution for one in both.list_scores) == pytest.approx(by_rank)
        assert both.priors[0].name == "margin"
        assert both.score == pytest.approx(by_rank * math.prod(prior.factor for prior in both.priors))
        assert [p.path for p in (await search(services, "TP", expanded_weight=0)).passages] == ["src/b.md"]
        assert len((await search(services, "layer")).passages[0].list_scores) == 2


async def test_a_table_comes_back_as_it_was_put_and_outlives_the_server(tmp_path: Path):
    groups = [Group(terms=["TP", "tensor parallelism"]), Group(terms=["GPU"], expansions=["accelerator", "device"])]
    request = synonyms_pb2.GetSynonymTableRequest()
    async with running_server(tmp_path) as services:
        await sync(services, FILES)
        await put(services, groups=groups)
        assert list((await services.corpus.GetSynonymTable(request)).groups) == groups
    async with running_server(tmp_path) as services:
        assert list((await services.corpus.GetSynonymTable(request)).groups) == groups
        await sync(services, {"d.md": b"more"}, source="/other")
        assert len((await search(services, "GPU")).passages) == 1
        await put(services)
        assert not (await services.corpus.GetSynonymTable(request)).groups


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"toml": '[one_way]\na = "b"\nb = "a"'}, "toml.one_way.b"),
        ({"toml": "x", "groups": [Group(terms=["a", "b"])]}, "toml"),
        ({"groups": [Group(terms=["a", "b"]), Group(terms=["c"])]}, "groups[1]"),
        ({"toml": "#" * (1024 * 1024 + 1)}, "toml"),
    ],
)
async def test_what_is_wrong_names_its_entry_and_keeps_the_table(tmp_path: Path, fields: dict[str, object], field: str):
    async with running_server(tmp_path) as services:
        await sync(services, FILES)
        await put(services, groups=[Group(terms=["x", "y"])])
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await put(services, **fields)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert [v.field for v in details(caught.value)["BadRequest"].field_violations] == [field]
        request = synonyms_pb2.GetSynonymTableRequest()
        assert len((await services.corpus.GetSynonymTable(request)).groups) == 1
