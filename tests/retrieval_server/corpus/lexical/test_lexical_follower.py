"""The lexical index beside its database: never believed when it is empty, and no hindrance when it is damaged."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from groundwire.v1 import error_pb2
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.files.layout import LEXICAL, LEXICAL_SEGMENTS
from retrieval_server.engine.lexical.bm25 import LexicalIndex, LexicalView, lexical_query
from retrieval_server.errors import GroundwireError
from tests.retrieval_server.corpus.support import change, parsed


class _Death(BaseException):
    """The process dies here."""


def _chunks_found(directory: Path) -> int:
    collection = Collection("c", directory, "", None)
    try:
        with collection.view() as view:
            return len(view.lexical.search(lexical_query("alpha"), 10))
    finally:
        collection.close()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    collection = Collection("c", tmp_path, "", None)
    collection.apply(change(parsed("a.py", "alpha = 1")))
    collection.close()
    return tmp_path


@pytest.mark.parametrize("lost", [LEXICAL, f"{LEXICAL}/{LEXICAL_SEGMENTS}"])
def test_an_index_that_is_gone_is_made_again(directory: Path, lost: str):
    path = directory / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert _chunks_found(directory) == 1


def test_an_index_that_is_gone_still_says_that_the_database_is_an_older_copy(directory: Path):
    older = (directory / "corpus.sqlite").read_bytes()
    collection = Collection("c", directory, "", None)
    collection.apply(change(parsed("b.py", "beta = 1")))
    collection.close()
    (directory / "corpus.sqlite").write_bytes(older)
    shutil.rmtree(directory / LEXICAL)
    for _ in range(2):
        with pytest.raises(GroundwireError, match="older copy"):
            Collection("c", directory, "", None)


def test_a_death_while_a_damaged_index_is_thrown_away_leaves_none_that_is_believed(
    directory: Path, monkeypatch: pytest.MonkeyPatch
):
    (directory / LEXICAL / LEXICAL_SEGMENTS).write_text("{")

    def remove_and_die(path: Path, **_: object) -> None:
        for file in Path(path).iterdir():
            file.unlink()
        raise _Death

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", remove_and_die)
        with pytest.raises(_Death):
            Collection("c", directory, "", None)
    assert _chunks_found(directory) == 1


class PanicException(BaseException):
    """As the class that extension modules raise panics with."""


def _panic(*_: object, **__: object) -> None:
    raise PanicException("mid > len")


def test_an_index_that_panics_when_it_is_opened_is_made_again(directory: Path, monkeypatch: pytest.MonkeyPatch):
    original = LexicalIndex.__init__
    opened: list[Path] = []

    def panic_once(index: LexicalIndex, path: Path) -> None:
        opened.append(path)
        if len(opened) == 1:
            _panic()
        original(index, path)

    monkeypatch.setattr(LexicalIndex, "__init__", panic_once)
    assert _chunks_found(directory) == 1
    assert len(opened) == 2


def _report(*_: object, **__: object) -> None:
    raise ValueError("Data corrupted: 'InvalidData'")


@pytest.mark.parametrize("fail", [_panic, _report])
@pytest.mark.parametrize(
    ("method", "ask"),
    [
        ("search", lambda lexical: lexical.search(lexical_query("alpha"), 10)),
        ("chunk_count_of", lambda lexical: lexical.is_defined("alpha")),
    ],
)
async def test_an_index_that_cannot_be_read_is_an_error_and_a_problem_that_name_the_remedy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fail: Callable[..., None],
    method: str,
    ask: Callable[[LexicalView], object],
):
    catalog = Catalog(tmp_path, None)
    await catalog.open_all()
    opened = await catalog.get_or_create("c")
    with monkeypatch.context() as damaged:
        damaged.setattr(LexicalView, method, fail)
        with pytest.raises(GroundwireError, match="client rebuild --collection c") as caught, opened.view() as view:
            ask(view.lexical)
    assert caught.value.reason == error_pb2.ERROR_REASON_STORAGE_FAILED
    assert opened.collection.problem == caught.value.message
    await opened.write(Collection.compact)
    assert opened.collection.problem == ""
    await catalog.close()


async def test_a_commit_that_panics_leaves_the_outcome_unknown_and_is_made_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    catalog = Catalog(tmp_path, None)
    await catalog.open_all()
    opened = await catalog.get_or_create("c")
    with monkeypatch.context() as damaged:
        damaged.setattr(LexicalIndex, "commit", _panic)
        with pytest.raises(GroundwireError) as caught:
            await opened.write(Collection.apply, change(parsed("a.py", "alpha = 1")))
    assert caught.value.reason == error_pb2.ERROR_REASON_OUTCOME_UNKNOWN
    await opened.write(Collection.catch_up)
    with opened.view() as view:
        assert view.chunk_count == 1
    await catalog.close()


@pytest.mark.parametrize("problem", [_panic, ValueError("an index writer was killed")])
async def test_a_collection_whose_index_failed_is_removed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: object
):
    """As on a full disk, when removing collections is what helps."""
    close = LexicalIndex.close

    def close_and_fail(index: LexicalIndex, *, waits_for_merges: bool = True) -> None:
        close(index, waits_for_merges=waits_for_merges)
        if isinstance(problem, ValueError):
            raise problem
        _panic()

    monkeypatch.setattr(LexicalIndex, "close", close_and_fail)
    catalog = Catalog(tmp_path, None)
    await catalog.open_all()
    await catalog.get_or_create("c")
    await catalog.delete("c")
    assert list((tmp_path / "collections").iterdir()) == []
    await catalog.close()
