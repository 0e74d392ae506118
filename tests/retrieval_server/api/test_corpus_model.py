"""CorpusService against a dictionary: whatever the sequence of calls, both hold the same."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import field_mask_pb2
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from groundwire.v1 import collection_pb2, document_pb2, filter_pb2, metadata_pb2, retrieval_service_pb2, snapshot_pb2
from tests.retrieval_server.api.support import Services, details, running_server

WORDS = ("alpha", "beta", "gamma", "sigma")
PATHS = st.sampled_from([f"{folder}/p{number}.md" for folder in "ab" for number in range(3)])
TITLES = st.sampled_from(["", "one title", "another title"])
TAGS = st.sampled_from(["", "red", "blue"])
_numbers = count()


@dataclass(frozen=True)
class Known:
    """What the dictionary knows of a document."""

    document_id: str
    etag: str
    text: str
    title: str
    tag: str


class Server:
    """The service and the event loop that it runs on."""

    def __init__(self, data_dir: Path) -> None:
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self.services: Services = self.run(self._stack.enter_async_context(running_server(data_dir)))

    def run(self, call: Any) -> Any:
        """Wait for a call."""

        async def wait() -> Any:
            return await call

        return self._runner.run(wait())

    def close(self) -> None:
        """Stop it."""
        self.run(self._stack.aclose())
        self._runner.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path)
    yield started
    started.close()


class CorpusMachine(RuleBasedStateMachine):
    """Calls on one collection, and what each must do."""

    server: Server

    def __init__(self) -> None:
        super().__init__()
        self.name = f"m{next(_numbers)}"
        self.known: dict[str, Known] = {}
        self.generation = 0
        self.snapshots: list[tuple[str, dict[str, Known]]] = []
        self.call("CreateCollection", collection_pb2.CreateCollectionRequest(name=self.name))

    def call(self, method: str, request: Any) -> Any:
        return self.server.run(getattr(self.server.services.corpus, method)(request))

    def refused(self, method: str, request: Any) -> tuple[grpc.StatusCode, str]:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            self.call(method, request)
        return caught.value.code(), details(caught.value)["ErrorInfo"].reason

    def learn(self, response: Any, text: str, title: str, tag: str) -> None:
        document = response.document
        self.known[document.path] = Known(document.document_id, document.etag, text, title, tag)
        self.rose(response)

    def rose(self, response: Any) -> None:
        assert response.index_generation == self.generation + 1
        self.generation += 1

    def put_request(self, path: str, words: list[str], title: str, tag: str) -> document_pb2.PutDocumentRequest:
        # Long enough that no two are near duplicates of each other.
        unlike = " ".join(f"u{next(_numbers)}" for _ in range(20))
        metadata = {"tag": metadata_pb2.MetadataValue(text=tag)} if tag else {}
        return document_pb2.PutDocumentRequest(
            collection=self.name,
            key=document_pb2.DocumentKey(relative_path=path),
            text=f"{' '.join(words)} {unlike}",
            title=title,
            metadata=metadata,
        )

    @rule(path=PATHS, words=st.lists(st.sampled_from(WORDS), max_size=3), title=TITLES, tag=TAGS, again=st.booleans())
    def put(self, path: str, words: list[str], title: str, tag: str, again: bool) -> None:
        request = self.put_request(path, words, title, tag)
        request.request_id = f"r{next(_numbers)}" if again else ""
        response = self.call("PutDocument", request)
        self.learn(response, request.text, title, tag)
        if again:
            assert self.call("PutDocument", request) == response

    @rule(path=PATHS, words=st.lists(st.sampled_from(WORDS), max_size=3))
    def put_only_if(self, path: str, words: list[str]) -> None:
        new, of_version = (self.put_request(path, words, "", "") for _ in range(2))
        new.must_be_new = True
        of_version.etag = self.known[path].etag if path in self.known else "none"
        refused, taken = (new, of_version) if path in self.known else (of_version, new)
        assert self.refused("PutDocument", refused) == (grpc.StatusCode.ABORTED, "ETAG_MISMATCH")
        self.learn(self.call("PutDocument", taken), taken.text, "", "")

    @rule(path=PATHS, title=TITLES, tag=TAGS)
    def update(self, path: str, title: str, tag: str) -> None:
        known = self.known.get(path)
        request = document_pb2.UpdateDocumentRequest(
            collection=self.name,
            document_id=known.document_id if known else "nothing",
            title=title,
            metadata={"tag": metadata_pb2.MetadataValue(text=tag)} if tag else {},
            update_mask=field_mask_pb2.FieldMask(paths=["title", "metadata.tag"]),
        )
        if known is None:
            assert self.refused("UpdateDocument", request) == (grpc.StatusCode.NOT_FOUND, "DOCUMENT_NOT_FOUND")
        else:
            self.learn(self.call("UpdateDocument", request), known.text, title, tag)

    @rule(path=PATHS)
    def delete(self, path: str) -> None:
        known = self.known.pop(path, None)
        request = document_pb2.DeleteDocumentRequest(
            collection=self.name,
            document_id=known.document_id if known else "nothing",
            etag=known.etag if known else "",
        )
        if known is None:
            assert self.refused("DeleteDocument", request) == (grpc.StatusCode.NOT_FOUND, "DOCUMENT_NOT_FOUND")
        else:
            self.rose(self.call("DeleteDocument", request))

    @rule(paths=st.lists(PATHS, min_size=1, max_size=3, unique=True))
    def delete_several(self, paths: list[str]) -> None:
        ids = [self.known[path].document_id if path in self.known else "nothing" for path in paths]
        response = self.call(
            "BatchDeleteDocuments", document_pb2.BatchDeleteDocumentsRequest(collection=self.name, document_ids=ids)
        )
        assert [status.code == 0 for status in response.statuses] == [path in self.known for path in paths]
        self.rose(response)
        for path in paths:
            self.known.pop(path, None)

    @rule(folder=st.sampled_from("ab"), tag=st.sampled_from(["", "red"]))
    def delete_by_filter(self, folder: str, tag: str) -> None:
        wanted = filter_pb2.PassageFilter(include_paths=[f"{folder}/*"])
        if tag:
            wanted.metadata.add(key="tag", equals=tag)
        meant = [p for p, known in self.known.items() if p.startswith(f"{folder}/") and (not tag or known.tag == tag)]
        response = self.call(
            "DeleteDocumentsByFilter", document_pb2.DeleteDocumentsByFilterRequest(collection=self.name, filter=wanted)
        )
        assert response.deleted_count == len(meant)
        self.rose(response)
        for path in meant:
            del self.known[path]

    @rule()
    def snapshot(self) -> None:
        made = self.call("CreateSnapshot", snapshot_pb2.CreateSnapshotRequest(collection=self.name)).snapshot
        assert made.index_generation == self.generation
        self.snapshots.append((made.snapshot_id, dict(self.known)))

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        snapshot_id, known = data.draw(st.sampled_from(self.snapshots))
        self.rose(self.call("RestoreSnapshot", snapshot_pb2.RestoreSnapshotRequest(snapshot_id=snapshot_id)))
        self.known = dict(known)

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data())
    def remove_snapshot(self, data: st.DataObject) -> None:
        snapshot_id, _ = self.snapshots.pop(data.draw(st.integers(0, len(self.snapshots) - 1)))
        request = snapshot_pb2.DeleteSnapshotRequest(snapshot_id=snapshot_id)
        self.call("DeleteSnapshot", request)
        assert self.refused("DeleteSnapshot", request) == (grpc.StatusCode.NOT_FOUND, "SNAPSHOT_NOT_FOUND")

    @rule()
    def rebuild(self) -> None:
        async def follow() -> list[Any]:
            request = collection_pb2.RebuildCollectionRequest(collection=self.name, full=True)
            return [step async for step in self.server.services.corpus.RebuildCollection(request)]

        last = self.server.run(follow())[-1]
        assert (last.total_count, last.kept_count) == (len(self.known), 0)
        self.generation = last.index_generation

    @invariant()
    def the_list_is_what_is_known(self) -> None:
        listed = self.call("ListDocuments", document_pb2.ListDocumentsRequest(collection=self.name)).documents
        shown = {
            d.path: Known(d.document_id, d.etag, "", d.title, d.metadata["tag"].text if "tag" in d.metadata else "")
            for d in listed
        }
        assert [d.path for d in listed] == sorted(self.known)
        assert shown == {path: replace(known, text="") for path, known in self.known.items()}

    @invariant()
    def searches_find_what_is_known_and_nothing_else(self) -> None:
        for word in WORDS:
            request = retrieval_service_pb2.RetrieveRequest(
                collection=self.name,
                query=word,
                k=100,
                fusion=retrieval_service_pb2.FusionOverrides(dense_weight=0),
            )
            response = self.server.run(self.server.services.retrieval.Retrieve(request))
            assert response.index_generation == self.generation
            found = {passage.path: passage.text for passage in response.passages}
            assert found == {path: known.text for path, known in self.known.items() if word in known.text.split()}

    def teardown(self) -> None:
        self.call("DeleteCollection", collection_pb2.DeleteCollectionRequest(name=self.name))


def test_the_service_holds_what_a_dictionary_would(server: Server) -> None:
    machine = type("Machine", (CorpusMachine,), {"server": server})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
