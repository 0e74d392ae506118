"""CorpusService: synonym tables."""

import asyncio
from typing import Any

import grpc

from groundwire.v1 import corpus_service_pb2_grpc, synonyms_pb2
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.engine.lexical.synonyms import SynonymGroup, SynonymTable
from retrieval_server.errors import FieldError, InvalidRequest, beyond_limit

Context = grpc.aio.ServicerContext[Any, Any]

_MAX_TOML_BYTES = 1024 * 1024


class SynonymsServicer(corpus_service_pb2_grpc.CorpusServiceServicer):
    """Replaces and returns the table of a collection."""

    _catalog: Catalog

    async def PutSynonymTable(
        self, request: synonyms_pb2.PutSynonymTableRequest, context: Context
    ) -> synonyms_pb2.PutSynonymTableResponse:
        """Replace the table."""
        opened = self._catalog.get(request.collection)
        # The largest tables take seconds to read and check.
        await opened.write(Collection.put_synonyms, await asyncio.to_thread(_table, request))
        return synonyms_pb2.PutSynonymTableResponse()

    async def GetSynonymTable(
        self, request: synonyms_pb2.GetSynonymTableRequest, context: Context
    ) -> synonyms_pb2.GetSynonymTableResponse:
        """Return the table."""
        table = self._catalog.get(request.collection).collection.current_view.synonyms
        # The largest tables take a tenth of a second.
        return await asyncio.to_thread(_table_to_pb, table)


def _table_to_pb(table: SynonymTable) -> synonyms_pb2.GetSynonymTableResponse:
    return synonyms_pb2.GetSynonymTableResponse(
        groups=[synonyms_pb2.SynonymGroup(terms=group.terms, expansions=group.expansions) for group in table.groups]
    )


def _table(request: synonyms_pb2.PutSynonymTableRequest) -> SynonymTable:
    if not request.toml:
        groups = (SynonymGroup(tuple(group.terms), tuple(group.expansions)) for group in request.groups)
        return SynonymTable.of_groups(groups, "groups")
    if request.groups:
        raise InvalidRequest(FieldError("toml", "must not be set together with groups"))
    size_bytes = len(request.toml.encode())
    if size_bytes > _MAX_TOML_BYTES:
        description = f"{size_bytes:,} bytes, at most {_MAX_TOML_BYTES:,}"
        raise beyond_limit("toml", description, limit=_MAX_TOML_BYTES, actual=size_bytes)
    return SynonymTable.of_toml(request.toml, "toml")
