"""Trees as they really are: files that cannot be read, decoded or taken, and trees that change under the reader."""

import hashlib
import os
import threading
from pathlib import Path

import grpc
import pytest

from groundwire.v1 import corpus_service_pb2_grpc, sync_pb2
from tests.support.client import run_client
from tests.support.processes import Server
from tests.support.rpc import CALL_TIMEOUT_S, corpus_stats, document_text, retrieve

TIDES = "# Tides\n\nSpring tides follow the full moon.\n"
LATIN_1_TEXT = f"{TIDES}Crème brûlée für später, señor: ça va déjà très bien à la fête.\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """`tree` in a working folder, with one good file."""
    root = tmp_path / "home" / "tree"
    root.mkdir(parents=True)
    (root / "good.md").write_text("# Kelp\n\nKelp grows half a metre a day.\n", encoding="utf-8")
    return root


def index(server: Server, tree: Path, collection: str, *extra: str) -> dict[str, object]:
    """Index the tree; the summary."""
    run = run_client(server.address, "index", "tree", "--collection", collection, "--json", *extra, cwd=tree.parent)
    summary = run.assert_ok().json["summary"]
    assert isinstance(summary, dict)
    return summary


def skipped_reasons(summary: dict[str, object]) -> dict[str, str]:
    files = summary["files"]
    assert isinstance(files, list)
    return {file["relative_path"]: file["detail"] for file in files if file["outcome"] == "skipped"}


def assert_searchable(channel: grpc.Channel, collection: str, query: str, path: str) -> None:
    response = retrieve(channel, query, collection=collection, k=5)
    found = [passage for passage in response.passages if passage.path == path]
    assert found, [passage.path for passage in response.passages]
    text = document_text(channel, collection, path)
    for passage in found:
        assert text[passage.start_char : passage.end_char] == passage.text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.md", b""),
        ("blank.md", b" \n\t\n"),
        ("binary.md", b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 20),
        ("one_line.txt", b"x" * 20_000_000),
        ("one_line.py", b"a = '" + b"y" * 3_000_000 + b"'\n"),
    ],
)
def test_a_file_that_cannot_be_used_is_skipped_with_a_reason(
    server: Server, channel: grpc.Channel, tree: Path, collection: str, name: str, content: bytes
) -> None:
    (tree / name).write_bytes(content)
    reasons = skipped_reasons(index(server, tree, collection))
    assert list(reasons) == [name]
    assert reasons[name]
    assert_searchable(channel, collection, "how fast does kelp grow", "tree/good.md")


def test_an_unreadable_file_is_skipped_with_a_reason(server: Server, tree: Path, collection: str) -> None:
    secret = tree / "secret.md"
    secret.write_text("Nobody may read this.\n", encoding="utf-8")
    secret.chmod(0o000)
    folder = tree / "closed"
    folder.mkdir()
    (folder / "inside.md").write_text("Nor this.\n", encoding="utf-8")
    folder.chmod(0o000)
    run = run_client(
        server.address, "index", "tree", "--collection", collection, "--json", cwd=tree.parent, unprivileged=True
    )
    folder.chmod(0o755)
    reasons = skipped_reasons(run.assert_ok().json["summary"])
    assert "secret.md" in reasons
    assert any(path.startswith("closed") for path in reasons)
    assert "permission" in reasons["secret.md"].lower()


def test_a_fifo_does_not_hang_the_client(server: Server, channel: grpc.Channel, tree: Path, collection: str) -> None:
    os.mkfifo(tree / "pipe.md")
    index(server, tree, collection)
    assert corpus_stats(channel, collection).stats.document_count == 1


def test_symlink_loops_end(server: Server, channel: grpc.Channel, tree: Path, collection: str) -> None:
    (tree / "loop").symlink_to(tree, target_is_directory=True)
    (tree / "self.md").symlink_to(tree / "self.md")
    (tree / "nowhere.md").symlink_to(tree / "missing.md")
    index(server, tree, collection)
    assert corpus_stats(channel, collection).stats.document_count == 1


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("crlf.md", b"# Tides\r\n\r\nSpring tides follow the full moon.\r\n", None),
        ("cr.md", b"# Tides\r\rSpring tides follow the full moon.\r", None),
        ("bom.md", b"\xef\xbb\xbf" + TIDES.encode(), TIDES),
        ("latin1.md", LATIN_1_TEXT.encode("latin-1"), LATIN_1_TEXT),
        ("utf16.md", TIDES.encode("utf-16"), None),
        ("nul.md", b"# Tides\n\nSpring tides follow\x00 the full moon.\n", None),
    ],
    ids=lambda value: value if isinstance(value, str) and value.endswith(".md") else "",
)  # fmt: skip
def test_every_encoding_and_newline_keeps_its_spans(
    server: Server, channel: grpc.Channel, tree: Path, collection: str, name: str, content: bytes, text: str | None
) -> None:
    (tree / name).write_bytes(content)
    summary = index(server, tree, collection)
    if name in skipped_reasons(summary):
        assert name in {"utf16.md", "nul.md"}, skipped_reasons(summary)
        return
    assert_searchable(channel, collection, "spring tides full moon", f"tree/{name}")
    stored = document_text(channel, collection, f"tree/{name}")
    if text is not None:
        assert stored == text
    if name in {"crlf.md", "cr.md"}:
        assert stored.encode() == content


def test_names_that_are_no_text_are_reported_and_not_fatal(
    server: Server, channel: grpc.Channel, tree: Path, collection: str
) -> None:
    (tree / os.fsdecode(b"caf\xe9.md")).write_text("Coffee.\n", encoding="utf-8")
    (tree / "new\nline.md").write_text("A name of two lines.\n", encoding="utf-8")
    index(server, tree, collection)
    assert corpus_stats(channel, collection).stats.document_count >= 1


def test_a_name_of_several_lines_is_shown_on_one(server: Server, tree: Path, collection: str) -> None:
    (tree / "a\nSource: forged.md:1\n\u202egpj.md").write_text("Kelp is a brown alga.\n", encoding="utf-8")
    shown = "a\ufffdSource: forged.md:1\ufffd\ufffdgpj.md"
    files = run_client(
        server.address, "index", "tree", "--collection", collection, "--files", cwd=tree.parent
    ).assert_ok()
    assert f"added: {shown}" in files.stdout.splitlines()
    listed = run_client(server.address, "docs", "ls", "--collection", collection, cwd=tree.parent).assert_ok()
    assert any(line.startswith(f"tree/{shown}  ") for line in listed.stdout.splitlines())
    found = run_client(server.address, "search", "brown alga", "--collection", collection, cwd=tree.parent).assert_ok()
    assert f"tree/{shown}:1" in found.stdout


def test_indexing_the_same_tree_twice_holds_it_once(
    server: Server, channel: grpc.Channel, tree: Path, collection: str
) -> None:
    index(server, tree, collection)
    again = index(server, tree, collection)
    assert (again["added_count"], again["unchanged_count"]) == (0, 1)
    assert corpus_stats(channel, collection).stats.document_count == 1


def test_one_path_offered_twice_in_a_stream_is_held_once(channel: grpc.Channel, collection: str) -> None:
    content = b"Kelp grows fast."
    offered = sync_pb2.OfferedFile(
        relative_path="a.md", sha256=hashlib.sha256(content).digest(), size_bytes=len(content)
    )
    requests = [
        sync_pb2.SyncDocumentsRequest(begin=sync_pb2.SyncBegin(collection=collection, source="s")),
        sync_pb2.SyncDocumentsRequest(offer=sync_pb2.SyncOffer(files=[offered, offered])),
        sync_pb2.SyncDocumentsRequest(offer_complete=sync_pb2.SyncOfferComplete()),
        sync_pb2.SyncDocumentsRequest(
            contents=sync_pb2.SyncContents(parts=[sync_pb2.FilePart(relative_path="a.md", data=content, last=True)])
        ),
    ]
    stub = corpus_service_pb2_grpc.CorpusServiceStub(channel)
    responses = list(stub.SyncDocuments(iter(requests), timeout=CALL_TIMEOUT_S))
    assert [response.WhichOneof("message") for response in responses][-1] == "summary"
    assert responses[-1].summary.added_count == 1
    assert corpus_stats(channel, collection).stats.document_count == 1


@pytest.mark.parametrize("path", ["../up.md", "/abs.md", "a/../../b.md", "", "a\x00b.md", "x" * 5000])
def test_paths_that_leave_the_source_are_refused(channel: grpc.Channel, collection: str, path: str) -> None:
    requests = [
        sync_pb2.SyncDocumentsRequest(begin=sync_pb2.SyncBegin(collection=collection, source="s")),
        sync_pb2.SyncDocumentsRequest(
            offer=sync_pb2.SyncOffer(
                files=[sync_pb2.OfferedFile(relative_path=path, sha256=b"\x01" * 32, size_bytes=5)]
            )
        ),
    ]
    stub = corpus_service_pb2_grpc.CorpusServiceStub(channel)
    with pytest.raises(grpc.RpcError) as caught:
        list(stub.SyncDocuments(iter(requests), timeout=CALL_TIMEOUT_S))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_searching_while_indexing_always_sees_a_whole_state(server: Server, tree: Path, collection: str) -> None:
    for number in range(60):
        (tree / f"page{number}.md").write_text(f"# Page {number}\n\nHerring shoal number {number}.\n", encoding="utf-8")
    index(server, tree, collection)
    stop = threading.Event()
    problems: list[str] = []
    generations: list[int] = []

    def search() -> None:
        with server.channel() as own:
            while not stop.is_set():
                response = retrieve(own, "herring shoal", collection=collection, k=100)
                generations.append(response.index_generation)
                texts = {passage.path: passage.text for passage in response.passages}
                if len(texts) < 60:
                    problems.append(f"{len(texts)} pages at generation {response.index_generation}")

    searching = threading.Thread(target=search)
    searching.start()
    try:
        for round_number in range(3):
            for number in range(60):
                text = f"# Page {number}\n\nHerring shoal number {number}, seen in round {round_number}.\n"
                (tree / f"page{number}.md").write_text(text, encoding="utf-8")
            index(server, tree, collection)
    finally:
        stop.set()
        searching.join()
    assert problems == []
    assert generations == sorted(generations)
    assert len(set(generations)) > 1


def test_a_path_that_is_missing_is_named(server: Server, tmp_path: Path, collection: str) -> None:
    run_client(server.address, "index", "no-such-folder", "--collection", collection, cwd=tmp_path).assert_refused(
        "no-such-folder"
    )
