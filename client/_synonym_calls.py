"""The methods of a client that are about synonym tables."""

from dataclasses import dataclass

from client._channel import DEFAULT_COLLECTION
from client._message_fields import building
from client._rpc import Rpc
from groundwire.v1 import corpus_service_pb2_grpc, synonyms_pb2


@dataclass(frozen=True, slots=True)
class SynonymGroup:
    """Terms that mean the same; with `expansions`, each term also asks for these, and not the other way."""

    terms: tuple[str, ...]
    expansions: tuple[str, ...] = ()


class SynonymCalls:
    """What `AsyncClient` has of synonym tables."""

    _rpc: Rpc

    async def synonyms(self, collection: str = DEFAULT_COLLECTION) -> tuple[SynonymGroup, ...]:
        """Return the synonym table of a collection."""
        with building("collection"):
            request = synonyms_pb2.GetSynonymTableRequest(collection=collection)
        stub = corpus_service_pb2_grpc.CorpusServiceStub(self._rpc.channel)
        response = await self._rpc.unary(stub.GetSynonymTable, request)
        return tuple(SynonymGroup(tuple(one.terms), tuple(one.expansions)) for one in response.groups)

    async def put_synonyms(
        self, table: str | tuple[SynonymGroup, ...], *, collection: str = DEFAULT_COLLECTION
    ) -> None:
        """Replace the synonym table of a collection by a TOML text or by groups; none empties it."""
        with building("collection"):
            request = synonyms_pb2.PutSynonymTableRequest(collection=collection)
        with building("table"):
            if isinstance(table, str):
                request.toml = table
            else:
                for group in table:
                    request.groups.add(terms=group.terms, expansions=group.expansions)
        stub = corpus_service_pb2_grpc.CorpusServiceStub(self._rpc.channel)
        await self._rpc.unary(stub.PutSynonymTable, request)
