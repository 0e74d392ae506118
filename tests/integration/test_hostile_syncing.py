"""Syncs that break off, and roots that are easily taken for each other: only what is one's own is removed."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

import client as groundwire
from groundwire.v1 import corpus_service_pb2_grpc, sync_pb2
from tests.support.client import ClientRun, run_client
from tests.support.deadline import wait_until
from tests.support.processes import Server
from tests.support.rpc import CALL_TIMEOUT_S, refusal_of, refused

Index = Callable[..., ClientRun]
Request = sync_pb2.SyncDocumentsRequest
NAMES = ("a.md", "b.md", "c.md")


@pytest.fixture
def library(server: Server) -> Iterator[groundwire.Client]:
    with groundwire.Client(server.address) as opened:
        yield opened


@pytest.fixture
def index(server: Server, collection: str, tmp_path: Path) -> Index:
    """Run `client index`, in the test's folder by default."""

    def run(*arguments: str, cwd: Path = tmp_path, unprivileged: bool = False) -> ClientRun:
        command = ("index", *arguments, "--collection", collection)
        return run_client(server.address, *command, cwd=cwd, unprivileged=unprivileged).assert_ok()

    return run


def write(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(f"# {name}\n\nThe sluice of {folder.name}.\n", encoding="utf-8")


def paths(library: groundwire.Client, collection: str) -> list[str]:
    return [one.path for one in library.list_documents(collection=collection)]


def begin(library: groundwire.Client, collection: str, source: str | None = None) -> Request:
    """What opens a sync with prune, of the only source there is unless another is named."""
    source = source or library.corpus_stats(collection).sources[0].source
    return Request(begin=sync_pb2.SyncBegin(collection=collection, source=source, display_prefix="tree", prune=True))


def offer(*names: str, content: bytes = b"new") -> Request:
    sha256 = hashlib.sha256(content).digest()
    offered = [sync_pb2.OfferedFile(relative_path=name, sha256=sha256, size_bytes=len(content)) for name in names]
    return Request(offer=sync_pb2.SyncOffer(files=offered))


def contents(name: str, content: bytes = b"new") -> Request:
    part = sync_pb2.FilePart(relative_path=name, data=content, last=True)
    return Request(contents=sync_pb2.SyncContents(parts=[part]))


COMPLETE = Request(offer_complete=sync_pb2.SyncOfferComplete())


@pytest.mark.parametrize("ending", ["half-closed", "cancelled"])
def test_a_sync_that_breaks_off_changes_and_removes_nothing(
    server: Server, index: Index, library, collection: str, tmp_path: Path, ending: str
) -> None:
    write(tmp_path / "tree", *NAMES)
    generation = index("tree", "--json").json["summary"]["index_generation"]
    first = begin(library, collection)
    with server.channel() as channel:
        stub = corpus_service_pb2_grpc.CorpusServiceStub(channel)
        for sent in (
            (),
            (offer(),),
            (offer("a.md"),),
            (offer("a.md"), contents("a.md")),
            (offer("a.md", "b.md"), COMPLETE),
            (offer("a.md", "b.md"), COMPLETE, contents("a.md")),
        ):
            if ending == "half-closed":
                refusal = refused(lambda: list(stub.SyncDocuments(iter([first, *sent]), timeout=CALL_TIMEOUT_S)))  # noqa: B023
                assert refusal.reason == "PROTOCOL_ORDER"
            else:
                _cancelled(stub, [first, *sent])
            # The source is free again, and nothing has been done to it.
            wait_until(lambda: _is_unchanged(stub, first, generation), timeout_s=CALL_TIMEOUT_S, what="the end of it")
            assert paths(library, collection) == [f"tree/{name}" for name in NAMES]
    again = index("tree", "--prune", "--json").json["summary"]
    assert (again["unchanged_count"], again["removed_count"], again["index_generation"]) == (3, 0, generation)


def _is_unchanged(stub: corpus_service_pb2_grpc.CorpusServiceStub, first: Request, generation: int) -> bool:
    """Whether a sync that offers and removes nothing finds the source free, and as it was."""
    harmless = Request()
    harmless.CopyFrom(first)
    harmless.begin.prune = False
    try:
        *_, last = stub.SyncDocuments(iter([harmless, COMPLETE]), timeout=CALL_TIMEOUT_S)
    except grpc.RpcError as error:
        if refusal_of(error).reason != "SYNC_IN_PROGRESS":
            raise
        return False
    assert last.summary.index_generation == generation
    return True


def _cancelled(stub: corpus_service_pb2_grpc.CorpusServiceStub, requests: list[Request]) -> None:
    """Send some messages, and leave without a word once the last has been taken."""
    taken = 0

    def send() -> Iterator[Request]:
        nonlocal taken
        for request in requests:
            yield request
            taken += 1
        wait_until(call.done, timeout_s=CALL_TIMEOUT_S, what="the call is cancelled")

    call = stub.SyncDocuments(send(), timeout=CALL_TIMEOUT_S)
    wait_until(lambda: taken == len(requests), timeout_s=CALL_TIMEOUT_S, what="all messages are sent")
    call.cancel()
    with pytest.raises(grpc.RpcError) as caught:
        list(call)
    assert caught.value.code() is grpc.StatusCode.CANCELLED


def test_a_source_of_any_other_name_prunes_only_itself(
    server: Server, index: Index, library, collection: str, tmp_path: Path
) -> None:
    write(tmp_path / "tree", *NAMES)
    index("tree")
    (source,) = library.corpus_stats(collection).sources
    parent = os.path.dirname(source.source)
    for other in (f"{source.source}/", f"{source.source}/sub", parent, source.source.upper(), "%", "*", "_" * 40):
        with server.channel() as channel:
            stub = corpus_service_pb2_grpc.CorpusServiceStub(channel)
            requests = iter([begin(library, collection, other), offer(), COMPLETE])
            *_, last = stub.SyncDocuments(requests, timeout=CALL_TIMEOUT_S)
        assert last.summary.removed_count == 0, other
    assert paths(library, collection) == [f"tree/{name}" for name in NAMES]


def test_paths_that_lead_out_of_a_source_are_skipped(server: Server, library, collection: str) -> None:
    outside = ("../a.md", "/etc/passwd", "x/../../a.md", "./a.md", "a//b.md", "a\\b.md", "", "a/")
    with server.channel() as channel:
        stub = corpus_service_pb2_grpc.CorpusServiceStub(channel)
        requests = iter([begin(library, collection, "/srv/tree"), offer(*outside), COMPLETE])
        *files, last = stub.SyncDocuments(requests, timeout=CALL_TIMEOUT_S)
    assert last.summary.skipped_count == len(outside)
    assert not [one for one in files if one.HasField("wanted")]
    assert paths(library, collection) == []


def test_two_roots_with_the_same_names_are_two_sources(index: Index, library, collection: str, tmp_path: Path) -> None:
    for root in ("one", "two"):
        write(tmp_path / root, *NAMES)
        index(".", cwd=tmp_path / root)
    assert paths(library, collection) == sorted(NAMES * 2)
    (tmp_path / "one" / "a.md").unlink()
    assert index(".", "--prune", "--json", cwd=tmp_path / "one").json["summary"]["removed_count"] == 1
    assert paths(library, collection) == ["a.md", "b.md", "b.md", "c.md", "c.md"]
    assert "The sluice of two." in library.get_document("a.md", collection=collection).text
    for name in NAMES[1:]:
        (tmp_path / "one" / name).unlink()
    assert index(".", "--prune", "--json", cwd=tmp_path / "one").json["summary"]["removed_count"] == 2
    assert paths(library, collection) == list(NAMES)


def test_a_root_inside_another_is_a_source_of_its_own(index: Index, library, collection: str, tmp_path: Path) -> None:
    write(tmp_path / "tree", "a.md")
    write(tmp_path / "tree" / "sub", "b.md", "c.md")
    index("tree")
    index("tree/sub")
    assert paths(library, collection) == ["tree/a.md", *["tree/sub/b.md"] * 2, *["tree/sub/c.md"] * 2]
    (tmp_path / "tree" / "sub" / "b.md").unlink()
    index("tree/sub", "--prune")
    assert paths(library, collection) == ["tree/a.md", "tree/sub/b.md", *["tree/sub/c.md"] * 2]
    index("tree", "--prune")
    assert paths(library, collection) == ["tree/a.md", *["tree/sub/c.md"] * 2]
    (tmp_path / "tree" / "sub" / "c.md").unlink()
    index("tree", "--prune")
    assert paths(library, collection) == ["tree/a.md", "tree/sub/c.md"]
    index("tree/sub", "--prune")
    assert paths(library, collection) == ["tree/a.md"]


def test_a_root_by_way_of_a_symbolic_link_is_the_root_that_it_leads_to(
    index: Index, library, collection: str, tmp_path: Path
) -> None:
    write(tmp_path / "tree", *NAMES)
    (tmp_path / "link").symlink_to("tree")
    (tmp_path / "again").symlink_to("link")
    index("tree")
    for spelling in ("link", "link/", "./again"):
        assert index(spelling, "--prune", "--json").json["summary"]["unchanged_count"] == 3
        assert len(library.corpus_stats(collection).sources) == 1
    assert paths(library, collection) == [f"again/{name}" for name in NAMES]
    # A link that leads elsewhere from now on is another root, and says nothing of the first.
    write(tmp_path / "other", "x.md")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("other")
    index("link", "--prune")
    assert paths(library, collection) == [*(f"again/{name}" for name in NAMES), "link/x.md"]


def test_what_cannot_be_read_now_is_not_taken_for_gone(index: Index, library, collection: str, tmp_path: Path) -> None:
    write(tmp_path / "tree", "a.md", "b.md")
    write(tmp_path / "tree" / "closed", "c.md")
    index("tree")
    (tmp_path / "tree" / "a.md").unlink()
    for closed in (tmp_path / "tree" / "closed", tmp_path / "tree" / "b.md"):
        mode = closed.stat().st_mode
        closed.chmod(0)
        told = index("tree", "--prune", unprivileged=True).output
        closed.chmod(mode)
        assert "cannot be read: permission denied" in told
        assert paths(library, collection) == ["tree/a.md", "tree/b.md", "tree/closed/c.md"]
    index("tree", "--prune")
    assert paths(library, collection) == ["tree/b.md", "tree/closed/c.md"]
