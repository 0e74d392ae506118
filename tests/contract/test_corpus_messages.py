"""Callers of CorpusService need not know in which file a message is: its full name and its bytes are the contract."""

import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message

from groundwire.v1 import collection_pb2, corpus_service_pb2, document_pb2, snapshot_pb2, sync_pb2, synonyms_pb2

METHODS = tuple(corpus_service_pb2.DESCRIPTOR.services_by_name["CorpusService"].methods)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_methods_messages_are_named_after_it_in_the_one_package(method: MethodDescriptor):
    assert method.full_name == f"groundwire.v1.CorpusService.{method.name}"
    names = (method.input_type.full_name, method.output_type.full_name)
    assert names == (f"groundwire.v1.{method.name}Request", f"groundwire.v1.{method.name}Response")


@pytest.mark.parametrize(
    ("message", "wire"),
    [
        (
            collection_pb2.CreateCollectionRequest(
                name="c", max_chunk_size_chars=64, similarity=collection_pb2.SIMILARITY_DOT, sentences_per_chunk=3
            ),
            "0a0163 1040 1802 2003",
        ),
        (
            collection_pb2.RebuildCollectionResponse(
                done_count=1, total_count=2, finished=True, index_generation=3, kept_count=4
            ),
            "0801 1002 1801 2003 2804",
        ),
        (
            document_pb2.PutDocumentRequest(
                collection="c",
                key=document_pb2.DocumentKey(source="s", relative_path="p"),
                text="t",
                media_type="m",
                title="i",
                source_url="u",
                etag="e",
                must_be_new=True,
                request_id="r",
            ),
            "0a0163 1206 0a0173 120170 220174 2a016d 320169 3a0175 4a0165 5001 5a0172",
        ),
        (
            document_pb2.UpdateDocumentRequest(collection="c", document_id="d", title="i", etag="e", request_id="r"),
            "0a0163 120164 1a0169 3a0165 420172",
        ),
        (
            sync_pb2.SyncDocumentsRequest(begin=sync_pb2.SyncBegin(collection="c", source="s", prune=True)),
            "0a08 0a0163 120173 2801",
        ),
        (
            sync_pb2.SyncDocumentsResponse(summary=sync_pb2.SyncSummary(added_count=1, index_generation=2)),
            "2204 0801 3802",
        ),
        (snapshot_pb2.ListSnapshotsRequest(collection="c", page_size=1, page_token="t"), "0a0163 1001 1a0174"),
        (
            snapshot_pb2.CreateSnapshotResponse(
                snapshot=snapshot_pb2.Snapshot(snapshot_id="s", collection="c", index_generation=1, size_bytes=2)
            ),
            "0a0a 0a0173 120163 1801 2802",
        ),
        (
            synonyms_pb2.PutSynonymTableRequest(
                collection="c", groups=[synonyms_pb2.SynonymGroup(terms=["t"], expansions=["e"])]
            ),
            "0a0163 1206 0a0174 120165",
        ),
    ],
    ids=lambda value: value.DESCRIPTOR.name if isinstance(value, Message) else "",
)
def test_messages_keep_their_bytes(message: Message, wire: str):
    assert message.SerializeToString().hex() == wire.replace(" ", "")
    assert type(message).FromString(bytes.fromhex(wire)) == message
