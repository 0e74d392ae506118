"""Documents by display path, from a place on: the same as a sorted list of all, and as cheap as what is shown."""

import random
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval_server.corpus.database.document_listing import LIST_START, ListPlace, listed_documents
from retrieval_server.corpus.database.document_rows import display_path
from retrieval_server.corpus.database.schema import connect, create_or_check
from retrieval_server.engine.places.globs import comparable_path, glob_pattern, literal_start
from retrieval_server.model import EVERYTHING, ContentKind, PassageFilter

PREFIXES = ["", "/", "a", "a/b", "a/b/", "ab", "\u00e4", "\U0001f30a/x"]
GLOBS = ["**", "a/**", "a/b/*", "K*", "a\u0301/**", "**/b", "a?/**", "a/b/x.py", "\u00e4/**", "[a-b]/**", "\\a/**"]
LETTERS = "ab/K\u212a\u0301\u00e1\u00e4\uffff\U0001f30a.-"


@pytest.fixture
def connection(tmp_path: Path) -> sqlite3.Connection:
    made = connect(tmp_path / "corpus.sqlite")
    create_or_check(made, tmp_path / "corpus.sqlite")
    return made


def add(connection: sqlite3.Connection, source: int, paths: list[str], prefix: str = "", dies: str = "NULL") -> None:
    connection.execute("BEGIN")
    connection.execute("INSERT OR IGNORE INTO sources VALUES (?, ?, ?)", (source, f"s{source}", prefix))
    connection.executemany(
        f"""INSERT INTO documents (document_id, source_id, relative_path, language, kind, sha256, max_chunk_chars,
                char_count, text_bytes, line_count, encoding, had_byte_order_mark, update_time_unix_ms, born_generation,
                died_generation)
            VALUES (?, ?, ?, ?, ?, x'', 1, 1, 1, 1, 'utf-8', 0, 0, 1, {dies})""",
        [
            (
                f"{hash((source, path)) % 97:02d}-{source}-{path}",
                source,
                path,
                "python",
                ("code", "docs")[len(path) % 2],
            )
            for path in paths
        ],
    )
    connection.execute("COMMIT")


def test_every_page_is_that_of_a_sorted_list_of_all(connection: sqlite3.Connection):
    chance = random.Random(7)
    for source, prefix in enumerate(PREFIXES):
        paths = {"".join(chance.choices(LETTERS, k=chance.randint(1, 5))) for _ in range(60)} | {"b/c", "c", "x.py"}
        add(connection, source, sorted(paths), prefix)
        add(connection, source, sorted(paths)[:9], prefix, dies="2")
    stored = connection.execute(
        "SELECT display_prefix, relative_path, document_id, kind FROM documents JOIN sources USING (source_id)"
        " WHERE died_generation IS NULL"
    ).fetchall()
    everything = sorted((display_path(prefix, path), document_id, kind) for prefix, path, document_id, kind in stored)
    filters = [
        EVERYTHING,
        PassageFilter(kinds=frozenset({ContentKind.CODE})),
        PassageFilter(languages=frozenset({"go"})),
    ]
    filters += [PassageFilter(include_paths=(glob,)) for glob in GLOBS]
    filters += [PassageFilter(include_paths=("a/b/*", "ab/**"), exclude_paths=("**/c",))]
    for wanted in filters:
        globs = [glob_pattern(glob) for glob in wanted.include_paths]
        meant = [
            (path, document_id)
            for path, document_id, kind in everything
            if (not wanted.kinds or ContentKind(kind) in wanted.kinds)
            and not wanted.languages
            and (not globs or any(glob.fullmatch(comparable_path(path)) for glob in globs))
            and not (wanted.exclude_paths and path.endswith("/c"))
        ]
        listed = [(one.path, one.place.document_id) for one in listed_documents(connection, wanted)]
        assert listed == meant, wanted
        for place in [*chance.sample(everything, 20), ("a/b", ""), ("b", "z"), ("\U0010ffff", "")]:
            after = ListPlace(place[0], place[1])
            rest = [(one.path, one.place.document_id) for one in listed_documents(connection, wanted, after)]
            assert rest == [one for one in meant if one > (after.path, after.document_id)], (wanted, after)


@settings(max_examples=300, deadline=None)
@given(
    glob=st.text("ab/K;`*?[]!\\\u0301\u00e1", min_size=1, max_size=6),
    path=st.text("ab/K;`\u212a\u037e\u1fef\u0301\u00e1", max_size=6),
)
def test_whatever_a_glob_matches_begins_with_its_literal_start(glob: str, path: str):
    try:
        pattern = glob_pattern(glob)
    except ValueError:
        return
    if pattern.fullmatch(comparable_path(path)):
        assert path.startswith(literal_start(glob))


def steps(connection: sqlite3.Connection, wanted: PassageFilter, after: ListPlace, count: int) -> int:
    """Return how many hundreds of instructions SQLite takes for a page."""
    taken = 0

    def note() -> int:
        nonlocal taken
        taken += 1
        return 0

    connection.set_progress_handler(note, 100)
    listed = listed_documents(connection, wanted, after)
    assert len([next(listed) for _ in range(count)]) == count
    connection.set_progress_handler(None, 100)
    return taken


def test_a_page_costs_what_is_on_it_however_many_documents_there_are(connection: sqlite3.Connection):
    def paths(count: int) -> list[str]:
        return [f"n/{number:06d}.py" for number in range(count)]

    filters = [EVERYTHING, PassageFilter(include_paths=("n/*.py",)), PassageFilter(languages=frozenset({"python"}))]
    places = [LIST_START, ListPlace("n/000450.py", "")]
    add(connection, 1, paths(600))
    few = [steps(connection, wanted, place, 100) for wanted in filters for place in places]
    add(connection, 1, paths(30_000)[600:])
    many = [steps(connection, wanted, place, 100) for wanted in filters for place in places]
    assert all(most <= least * 2 + 10 for least, most in zip(few, many, strict=True)), (few, many)
    last = steps(connection, PassageFilter(include_paths=("n/0299*",)), LIST_START, 100)
    assert last <= many[0] * 2 + 10, "a path that lies behind all others is not searched for among them"
