"""Indexing through the library: what travels, what is reported, what is removed."""

import os
from pathlib import Path

import pytest

import client
from client import SyncFileOutcome, SyncPhase
from client._walk import SkippedFile
from tests.client.support import MIB


@pytest.fixture
def tree(tmp_path, monkeypatch):
    root = tmp_path / "data" / "raw"
    root.mkdir(parents=True)
    (root / "a.py").write_text("a = 1\n")
    (root / "b.md").write_text("# B\n")
    monkeypatch.chdir(tmp_path)
    return root


def test_a_first_run_sends_every_file_and_a_second_none(library, server, tree):
    first = library.index("./data/raw/")
    assert (first.added_count, first.unchanged_count, first.index_generation) == (2, 0, 8)
    assert server.state.received == {"a.py": b"a = 1\n", "b.md": b"# B\n"}
    begin = server.state.begins[0]
    assert (begin.source, begin.display_prefix, begin.collection) == (str(tree), "data/raw", "default")
    assert not begin.HasField("max_chunk_size_chars")
    server.state.received.clear()
    second = library.index(Path("data/raw"))
    assert (second.added_count, second.unchanged_count) == (0, 2)
    assert server.state.received == {}


def test_only_changed_content_travels(library, server, tree):
    library.index("data/raw")
    (tree / "a.py").write_text("a = 2\n")
    server.state.received.clear()
    assert library.index("data/raw").updated_count == 1
    assert list(server.state.received) == ["a.py"]


def test_large_and_many_files_travel_in_messages_of_at_most_two_mib(library, server, tree):
    (tree / "large.txt").write_bytes(b"x" * (4 * MIB - 5))
    for number in range(1200):
        (tree / f"{number:04}.txt").write_text(f"file {number}\n")
    for number in range(5):
        (tree / f"medium{number}.txt").write_bytes(b"y" * (900 * 1024))
    summary = library.index("data/raw")
    assert summary.added_count == 1208
    assert max(server.state.contents_sizes) <= 2 * MIB
    assert len(server.state.contents_sizes) < 20
    assert server.state.received["large.txt"] == b"x" * (4 * MIB - 5)
    assert server.state.received["0007.txt"] == b"file 7\n"


def test_skipped_files_of_both_sides_are_reported_with_reasons(library, tree):
    (tree / "empty").touch()
    os.mkfifo(tree / "pipe")
    summary = library.index("data/raw")
    skipped = {one.relative_path: one.detail for one in summary.files if one.outcome is SyncFileOutcome.SKIPPED}
    assert skipped == {"empty": "empty", "pipe": "not a regular file"}
    assert summary.skipped_count == 2


def test_prune_removes_what_vanished_and_only_when_asked(library, tree):
    library.index("data/raw")
    (tree / "b.md").unlink()
    assert library.index("data/raw").removed_count == 0
    assert library.index("data/raw", prune=True).removed_count == 1


def test_prune_is_withheld_when_part_of_the_tree_cannot_be_read(library, server, tree, monkeypatch):
    from client import _index, _walk

    library.index("data/raw")
    (tree / "b.md").unlink()
    looked = _walk.scan

    def with_a_closed_folder(*arguments, **keywords):
        found = looked(*arguments, **keywords)
        closed = SkippedFile("closed/", "folder cannot be read: permission denied", unreadable=True)
        return _walk.Scan(found.root, found.files, (*found.skipped, closed))

    monkeypatch.setattr(_index, "scan", with_a_closed_folder)
    summary = library.index("data/raw", prune=True)
    assert summary.prune_withheld
    assert summary.removed_count == 0
    assert not server.state.begins[-1].prune


def test_prune_of_a_single_file_is_refused(library, tree):
    with pytest.raises(client.InvalidRequest, match="prune: "):
        library.index("data/raw/a.py", prune=True)


def test_a_dry_run_sends_no_content(library, server, tree):
    library.index("data/raw", dry_run=True)
    assert server.state.begins[0].dry_run
    assert server.state.received == {}


def test_what_was_offered_is_what_is_sent_whatever_becomes_of_the_file(library, server, tree, monkeypatch):
    from client import _index, _walk

    looked = _walk.scan

    def then_changed(*arguments, **keywords):
        found = looked(*arguments, **keywords)
        (tree / "a.py").write_text("a = 3\n")
        (tree / "b.md").unlink()
        return found

    monkeypatch.setattr(_index, "scan", then_changed)
    library.index("data/raw")
    assert server.state.received == {"a.py": b"a = 1\n", "b.md": b"# B\n"}


def test_a_file_that_changes_or_vanishes_between_offer_and_sending(library, server, tree, monkeypatch):
    from client import _upload, _walk

    monkeypatch.setattr(_walk, "_MAX_KEPT_BYTES", 0)
    read = _upload.read_regular_file

    def read_later(path: str) -> bytes:
        if path.endswith("a.py"):
            (tree / "a.py").write_text("a = 3\n")
        else:
            os.unlink(path)
        return read(path)

    monkeypatch.setattr(_upload, "read_regular_file", read_later)
    summary = library.index("data/raw")
    assert server.state.received == {"a.py": b"a = 3\n"}
    assert [(one.relative_path, one.outcome) for one in summary.files] == [
        ("a.py", SyncFileOutcome.ADDED),
        ("b.md", SyncFileOutcome.SKIPPED),
    ]


def test_a_server_that_asks_for_what_was_not_offered_gets_nothing(library, server, tree):
    server.state.ask_for = ["../../secret"]
    with pytest.raises(client.ServerFault, match="was not offered"):
        library.index("data/raw")
    assert server.state.received == {}


def test_a_failed_summary_is_an_error(library, tree):
    with pytest.raises(client.FailedPrecondition, match="disk full"):
        library.index("data/raw", collection="broken")


def test_an_error_that_comes_while_files_are_being_offered_is_told_as_it_is(library, tree):
    for number in range(3000):
        (tree / f"{number:04}.txt").write_text(f"file {number}\n")
    for _ in range(10):
        with pytest.raises(client.NotFound) as caught:
            library.index("data/raw", collection="nowhere")
        assert caught.value.reason == "COLLECTION_NOT_FOUND"


def test_progress_is_told(library, tree):
    told = []
    library.index("data/raw", on_progress=told.append)
    assert {one.phase for one in told} == {SyncPhase.READING}


def test_a_callback_that_fails_ends_the_run_with_its_error(library, tree):
    def fail(_progress) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        library.index("data/raw", on_progress=fail)


def test_a_sender_that_fails_ends_the_run_with_its_error(library, tree, monkeypatch):
    from client import _upload, _walk

    monkeypatch.setattr(_walk, "_MAX_KEPT_BYTES", 0)

    def fail(_path: str) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(_upload, "read_regular_file", fail)
    with pytest.raises(ZeroDivisionError):
        library.index("data/raw")
