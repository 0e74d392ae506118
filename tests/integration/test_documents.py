"""Documents and collections by the command line, against a real server."""

import json
from pathlib import Path

import pytest

from tests.support.client import ClientRun, run_client
from tests.support.processes import Server


@pytest.fixture
def client(server: Server, collection: str, tmp_path: Path):
    """Run a command line in an empty folder, in a collection of the test's own."""

    def run(*arguments: str) -> ClientRun:
        scoped = () if arguments[0] == "collections" else ("--collection", collection)
        return run_client(server.address, *arguments, *scoped, cwd=tmp_path)

    return run


def test_a_document_is_put_found_changed_and_removed(client, tmp_path: Path) -> None:
    (tmp_path / "tides.md").write_text("# Tides\n\nThe sluice closes at springs.\n", encoding="utf-8")
    put = ("--title", "Tide table", "--meta", "port=north", "--meta", "depth=2.5", "--meta", "day=2026-05-01")
    stored = client("docs", "put", "tides.md", "--url", "https://example.test/t", *put, "--json").assert_ok().json
    assert stored["document"]["path"] == "tides.md"
    found = client("search", "sluice springs", "--json").assert_ok().json
    assert found["passages"][0]["path"] == "tides.md"
    assert found["index_generation"] == stored["index_generation"]
    assert found["dense_coverage"] == 1.0

    shown = client("docs", "get", "tides.md").assert_ok().stdout
    for line in ("title: Tide table", "meta depth: 2.5", "meta port: north", "meta day: 2026-05-01 00:00:00+00:00"):
        assert line in shown
    assert client("docs", "get", "tides.md", "--text").stdout == "# Tides\n\nThe sluice closes at springs.\n"
    assert client("docs", "get", "tides.md", "--original").stdout == "# Tides\n\nThe sluice closes at springs.\n"

    stale = stored["document"]["etag"]
    client("docs", "update", "tides.md", "--meta", "port=south", "--unset", "url", "--etag", stale).assert_ok()
    client("docs", "update", "tides.md", "--title", "x", "--etag", stale).assert_refused("etag")
    changed = client("docs", "get", "tides.md", "--json").json
    assert (changed["source_url"], changed["metadata"]["port"], changed["metadata"]["depth"]) == ("", "south", 2.5)
    client("docs", "put", "tides.md", "--new").assert_refused("etag")

    client("docs", "rm", "tides.md").assert_ok()
    client("docs", "rm", "tides.md").assert_refused("no document")
    assert client("search", "sluice springs").stdout == "Nothing matches.\n"


def test_a_put_over_an_indexed_file_asks_which_source_is_meant(client, tmp_path: Path) -> None:
    tides = tmp_path / "tides.md"
    tides.write_text("The sluice closes at springs.\n", encoding="utf-8")
    client("index", ".", "--source", "coast").assert_ok()
    tides.write_text("The sluice closes at neaps.\n", encoding="utf-8")
    client("docs", "put", "tides.md").assert_refused("'coast'")
    assert "springs" in client("docs", "get", "tides.md", "--text").stdout
    replaced = client("docs", "put", "tides.md", "--source", "coast", "--json").assert_ok().json["document"]
    assert "neaps" in client("docs", "get", "tides.md", "--text").stdout
    added = client("docs", "put", "tides.md", "--source", "api", "--json").assert_ok().json["document"]
    client("docs", "rm", "tides.md").assert_refused(added["document_id"])
    client("docs", "rm", "--id", added["document_id"]).assert_ok()
    assert client("docs", "get", "tides.md", "--json").json["document_id"] == replaced["document_id"]


def test_documents_are_listed_and_removed_by_what_they_are(client, tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"n{number}.md").write_text(f"number {number}\n", encoding="utf-8")
        client("docs", "put", f"n{number}.md", "--path", f"notes/n{number}.md", "--meta", f"n={number}").assert_ok()
    listing = client("docs", "ls", "notes/*", "--where", "n>=1", "--where", "n<=2", "--json").assert_ok().stdout
    assert [json.loads(line)["path"] for line in listing.splitlines()] == ["notes/n1.md", "notes/n2.md"]
    assert "4 documents" in client("docs", "ls").stdout
    assert "would be removed: 4" in client("docs", "rm", "--matching", "notes/**", "--dry-run").assert_ok().stdout
    assert "removed: 4" in client("docs", "rm", "--matching", "notes/**").assert_ok().stdout
    assert "0 documents" in client("docs", "ls").stdout
    assert "0 documents" in client("stats").assert_ok().stdout


def test_collections_are_made_shown_and_removed(client, collection: str) -> None:
    client("collections", "create", collection, "--max-chunk-size", "500").assert_ok()
    client("collections", "create", collection).assert_refused("exists already")
    client("collections", "create", "No Such Name").assert_refused("lower-case")
    assert client("collections", "get", collection, "--json").json["max_chunk_size_chars"] == 500
    assert collection in client("collections", "ls").stdout
    assert client("collections", "rm", collection, "--yes").assert_ok().stdout.startswith("removed")
    client("collections", "get", collection).assert_refused("no collection")


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (("docs", "put", "missing.md"), "missing.md"),
        (("docs", "put", "-"), "--path"),
        (("docs", "get"), "PATH"),
        (("docs", "update", "a.md"), "nothing to change"),
        (("docs", "put", ".", "--meta", "nonsense"), "directory"),
        (("docs", "ls", "--where", "nonsense"), "KEY=TEXT"),
        (("docs", "rm"), "--matching"),
    ],
)
def test_what_is_typed_wrong_is_one_line(client, arguments: tuple[str, ...], fragment: str) -> None:
    client(*arguments).assert_refused(fragment)
