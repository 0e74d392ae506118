"""The methods of a client that are about collections and their documents."""

import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from types import MappingProxyType

from client import _convert_corpus, _corpus_requests
from client import _corpus_types as corpus
from client._channel import DEFAULT_COLLECTION
from client._filter_types import PassageFilter
from client._message_fields import building
from client._rpc import Rpc
from client._translate import from_item_status
from client.errors import ServerFault
from groundwire.v1 import collection_pb2, corpus_service_pb2_grpc, document_pb2

_NO_METADATA: Mapping[str, corpus.MetadataValue] = MappingProxyType({})
_NO_CHANGES: Mapping[str, corpus.MetadataValue | None] = MappingProxyType({})
_NO_FILTER = PassageFilter()


class CorpusCalls:
    """What `AsyncClient` has of CorpusService."""

    _rpc: Rpc

    @property
    def _corpus(self) -> "corpus_service_pb2_grpc.CorpusServiceAsyncStub":
        return corpus_service_pb2_grpc.CorpusServiceStub(self._rpc.channel)

    async def index(
        self,
        path: str | os.PathLike[str],
        *,
        collection: str = DEFAULT_COLLECTION,
        source: str | None = None,
        max_chunk_size_chars: int | None = None,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        prune: bool = False,
        dry_run: bool = False,
        on_progress: Callable[[corpus.SyncProgress], None] = lambda _: None,
    ) -> corpus.SyncSummary:
        """Bring the collection up to date with a folder or a file; return when all is durable and searchable.

        Only changed content travels. `prune` removes what an earlier run brought from the same root and is not there
        any more; it is withheld when part of the root cannot be read. `dry_run` changes nothing. `on_progress` is
        called from another thread than the caller's of the synchronous client.
        """
        from client._ignore import PathFilter
        from client._index import index_tree

        return await index_tree(
            self._rpc,
            os.fspath(path),
            collection=collection,
            source=source,
            max_chunk_size_chars=max_chunk_size_chars,
            path_filter=PathFilter(include, exclude),
            prune=prune,
            dry_run=dry_run,
            on_progress=on_progress,
        )

    async def collections(self) -> tuple[corpus.Collection, ...]:
        """Return all collections, by name."""
        found: list[corpus.Collection] = []
        token = ""
        while True:
            request = collection_pb2.ListCollectionsRequest(page_token=token)
            page = await self._rpc.unary(self._corpus.ListCollections, request)
            found += [_convert_corpus.collection(one) for one in page.collections]
            if not page.next_page_token:
                return tuple(found)
            if page.next_page_token == token:
                raise ServerFault("the server's list of collections has no end")
            token = page.next_page_token

    async def get_collection(self, name: str = DEFAULT_COLLECTION) -> corpus.Collection:
        """Return one collection."""
        with building("name"):
            request = collection_pb2.GetCollectionRequest(name=name)
        return _convert_corpus.collection((await self._rpc.unary(self._corpus.GetCollection, request)).collection)

    async def create_collection(
        self,
        name: str,
        *,
        max_chunk_size_chars: int | None = None,
        similarity: corpus.Similarity = corpus.Similarity.COSINE,
        sentences_per_chunk: int | None = None,
    ) -> corpus.Collection:
        """Make an empty collection; a Conflict when there is one of that name.

        With `sentences_per_chunk` prose is cut into passages of so many sentences.
        """
        request = _corpus_requests.create_collection(name, max_chunk_size_chars, similarity, sentences_per_chunk)
        return _convert_corpus.collection((await self._rpc.unary(self._corpus.CreateCollection, request)).collection)

    async def delete_collection(self, name: str) -> int:
        """Remove a collection and all that it holds; return how many documents went."""
        with building("name"):
            request = collection_pb2.DeleteCollectionRequest(name=name)
        return (await self._rpc.unary(self._corpus.DeleteCollection, request)).deleted_document_count

    async def corpus_stats(self, collection: str = DEFAULT_COLLECTION) -> corpus.CorpusStats:
        """Return the counts of a collection."""
        with building("collection"):
            request = collection_pb2.GetCorpusStatsRequest(collection=collection)
        return _convert_corpus.corpus_stats((await self._rpc.unary(self._corpus.GetCorpusStats, request)).stats)

    async def get_document(
        self,
        path: str | None = None,
        *,
        document_id: str | None = None,
        collection: str = DEFAULT_COLLECTION,
        include_text: bool = True,
    ) -> corpus.Document:
        """Return the document with that display path or id."""
        request = document_pb2.GetDocumentRequest(include_text=include_text)
        with building("path"):
            if document_id is None:
                request.path = path or ""
            else:
                request.document_id = document_id
        with building("collection"):
            request.collection = collection
        return _convert_corpus.document((await self._rpc.unary(self._corpus.GetDocument, request)).document)

    async def list_documents(
        self, wanted: PassageFilter = _NO_FILTER, *, collection: str = DEFAULT_COLLECTION
    ) -> AsyncGenerator[corpus.Document, None]:
        """Yield the documents that a filter means, by path, without their texts."""
        request = document_pb2.ListDocumentsRequest(filter=_corpus_requests.passage_filter(wanted), page_size=1000)
        with building("collection"):
            request.collection = collection
        while True:
            page = await self._rpc.unary(self._corpus.ListDocuments, request)
            for one in page.documents:
                yield _convert_corpus.document(one)
            if not page.next_page_token:
                return
            if page.next_page_token == request.page_token:
                raise ServerFault("the server's list of documents has no end")
            request.page_token = page.next_page_token

    async def put_document(
        self,
        relative_path: str,
        content: str | bytes,
        *,
        source: str = "",
        collection: str = DEFAULT_COLLECTION,
        media_type: str | None = None,
        title: str | None = None,
        source_url: str | None = None,
        metadata: Mapping[str, corpus.MetadataValue] = _NO_METADATA,
        etag: str | None = None,
        must_be_new: bool = False,
        request_id: str | None = None,
    ) -> corpus.WrittenDocument:
        """Add or replace one document; when this returns it is durable and found by the next query.

        `etag` names the version that is to be replaced; a Conflict when it is another one. Without a `source` it is
        "api", and a Conflict PATH_TAKEN where only another source shows a document at the path: naming "api" keeps
        both; naming that source, with its relative path, replaces its document until the source is indexed again.
        """
        request = _corpus_requests.put_document_request(
            corpus.DocumentKey(source, relative_path),
            content,
            collection=collection,
            media_type=media_type,
            title=title,
            source_url=source_url,
            metadata=metadata,
            etag=etag,
            must_be_new=must_be_new,
            request_id=request_id,
        )
        response = await self._rpc.unary(self._corpus.PutDocument, request)
        return corpus.WrittenDocument(_convert_corpus.document(response.document), response.index_generation)

    async def update_document(
        self,
        document_id: str,
        *,
        collection: str = DEFAULT_COLLECTION,
        title: str | corpus.Unset | None = corpus.UNSET,
        source_url: str | corpus.Unset | None = corpus.UNSET,
        metadata: Mapping[str, corpus.MetadataValue] | corpus.Unset = corpus.UNSET,
        metadata_changes: Mapping[str, corpus.MetadataValue | None] = _NO_CHANGES,
        etag: str | None = None,
        request_id: str | None = None,
    ) -> corpus.WrittenDocument:
        """Change what is set on a document; None unsets.

        `metadata` replaces all that was set, `metadata_changes` only its own keys.
        """
        request = _corpus_requests.update_document_request(
            document_id,
            collection=collection,
            title=title,
            source_url=source_url,
            metadata=metadata,
            metadata_changes=metadata_changes,
            etag=etag,
            request_id=request_id,
        )
        response = await self._rpc.unary(self._corpus.UpdateDocument, request)
        return corpus.WrittenDocument(_convert_corpus.document(response.document), response.index_generation)

    async def delete_document(
        self,
        document_id: str,
        *,
        collection: str = DEFAULT_COLLECTION,
        etag: str | None = None,
        request_id: str | None = None,
    ) -> int:
        """Remove one document; return the generation that lacks it."""
        with building("document_id"):
            request = document_pb2.DeleteDocumentRequest(
                collection=collection,
                document_id=document_id,
                etag=etag or "",
                request_id=_corpus_requests.new_request_id(request_id),
            )
        return (await self._rpc.unary(self._corpus.DeleteDocument, request)).index_generation

    async def delete_documents(
        self, document_ids: Sequence[str], *, collection: str = DEFAULT_COLLECTION, request_id: str | None = None
    ) -> tuple[corpus.DeletedDocument, ...]:
        """Remove at most 1,000 documents in one commit; each has an outcome of its own."""
        with building("document_ids"):
            request = document_pb2.BatchDeleteDocumentsRequest(
                collection=collection,
                document_ids=document_ids,
                request_id=_corpus_requests.new_request_id(request_id),
            )
        response = await self._rpc.unary(self._corpus.BatchDeleteDocuments, request)
        return tuple(
            corpus.DeletedDocument(document_id, from_item_status(status))
            for document_id, status in zip(document_ids, response.statuses, strict=True)
        )

    async def delete_documents_by_filter(
        self,
        wanted: PassageFilter,
        *,
        collection: str = DEFAULT_COLLECTION,
        dry_run: bool = False,
        request_id: str | None = None,
    ) -> corpus.DeletedDocuments:
        """Remove all documents that a filter means, in one commit; `dry_run` only counts them."""
        request = document_pb2.DeleteDocumentsByFilterRequest(
            filter=_corpus_requests.passage_filter(wanted), dry_run=dry_run
        )
        with building("collection"):
            request.collection = collection
            request.request_id = _corpus_requests.new_request_id(request_id)
        response = await self._rpc.unary(self._corpus.DeleteDocumentsByFilter, request)
        return corpus.DeletedDocuments(response.deleted_count, response.index_generation)

    async def get_original(self, document_id: str, *, collection: str = DEFAULT_COLLECTION) -> bytes:
        """Return the bytes that a document was made of."""
        with building("document_id"):
            request = document_pb2.GetOriginalRequest(collection=collection, document_id=document_id)
        async with aclosing(self._rpc.listen(self._corpus.GetOriginal, request)) as parts:
            return b"".join([part.data async for part in parts])
