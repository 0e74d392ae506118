"""Structured records: what is listed, how many there are, and what is known of each."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.documents.documents import ParsedDocument, ParseLimits, SkippedFile, parse_document
from retrieval_server.corpus.documents.records import read_record_file
from retrieval_server.engine.retriever import retrieve
from retrieval_server.model import ContentKind, Profile, RetrieveQuery
from tests.retrieval_server.corpus.support import DIMENSION, change
from tests.support.processes import PROJECT_DIR

RECORD = {
    "department": "Knots",
    "type": "people",
    "topic": "Faculty",
    "list": ["Ada Bowline", "Ben Hitch"],
    "details": [{"name": "Ada Bowline", "office": "Loft 1"}, {"name": "Ben Hitch", "office": "Loft 2"}],
    "note": "Both are on leave in May.",
}
COLLEGE = PROJECT_DIR / "examples" / "college"


def parsed(value: Any, max_chunk_chars: int = 2000, *, indent: int | None = 2) -> ParsedDocument:
    data = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    document = parse_document("knots.json", data, ParseLimits(1 << 20, 1 << 20, max_chunk_chars))
    assert not isinstance(document, SkippedFile)
    return document


def test_a_record_becomes_a_count_a_list_and_details():
    document = parsed([RECORD])
    assert [chunk.text for chunk in document.chunks] == [
        "Total faculty: 2 (Knots)",
        "Faculty, Knots\n1. Ada Bowline\n2. Ben Hitch",
        "Faculty, Knots\nname: Ada Bowline\noffice: Loft 1",
        "Faculty, Knots\nname: Ben Hitch\noffice: Loft 2",
        "Faculty, Knots\nnote: Both are on leave in May.",
    ]
    assert [chunk.span.breadcrumbs[-1] for chunk in document.chunks] == ["count", "list", *["detail"] * 3]
    assert all(chunk.is_derived for chunk in document.chunks)
    assert document.kind is ContentKind.DOCS
    assert (document.title, document.metadata["department"]) == ("Knots", "Knots")


def test_the_span_of_a_chunk_is_that_of_its_origin_and_only_counts_overlap_others():
    document = parsed([RECORD, {**RECORD, "topic": "Staff"}])
    text = document.decoded.text
    others = [chunk.span for chunk in document.chunks if chunk.span.breadcrumbs[-1] != "count"]
    spans = sorted((span.start_char, span.end_char) for span in others)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    for chunk in document.chunks:
        origin = text[chunk.span.start_char : chunk.span.end_char]
        if chunk.span.breadcrumbs[-1] == "count":
            assert json.loads("{" + origin + "}") == {"list": RECORD["list"]}
        if chunk.span.names:
            assert json.loads("{" + origin + "}")["name"] in chunk.text
        assert text[: chunk.span.start_char].count("\n") + 1 == chunk.span.start_line


def test_the_span_of_a_long_origin_ends_before_its_end():
    names = [f"Member number {number}" for number in range(1000)]
    document = parsed({"topic": "Members", "list": names}, 300)
    assert document.chunks[0].text == "Total members: 1000"
    assert document.chunks[0].span.end_char - document.chunks[0].span.start_char == 1200


def test_a_count_follows_its_list():
    longer = {**RECORD, "list": [*RECORD["list"], "Cleo Splice"]}
    assert parsed([longer]).chunks[0].text == "Total faculty: 3 (Knots)"


@pytest.mark.parametrize("indent", [None, 2])
def test_long_lists_and_details_are_cut_to_size_and_nothing_is_lost(indent: int | None):
    names = [f"Member number {number}" for number in range(100)]
    long = {"topic": "Members", "list": names, "details": [{"name": "all", "text": "long " * 400}]}
    document = parsed(long, 300, indent=indent)
    assert max(len(chunk.text) for chunk in document.chunks) <= 300
    together = "\n".join(chunk.text for chunk in document.chunks)
    assert all(f"{number}. {name}" in together for number, name in enumerate(names, 1))
    assert together.count("long") == 400
    ids = [(chunk.span.start_char, chunk.span.end_char) for chunk in document.chunks]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "[1]",
        '{"topic": "x"}',
        '{"topic": "", "list": []}',
        '{"topic": "x", "list": {"a": 1}}',
        '{"topic": "x", "list": [[1]]}',
        '[{"topic": "x", "list": []}, 3]',
        '{"topic": "x", "list": ["a"]} rest',
        '{"topic": "x", "list": ["a"',
        "[" * 100_000,
        "",
    ],
)
def test_other_json_is_left_to_its_chunker(text: str):
    assert read_record_file(text, 2000) is None


def test_what_no_text_can_hold_is_left_out_of_texts_names_and_metadata():
    text = r'{"owner": "\udfff", "topic": "x\ud800", "list": ["b\u0000"], "details": [{"name": "\ud800"}]}'
    read = read_record_file(text, 2000)
    assert read is not None
    for chunk in read.chunks:
        assert "\0" not in chunk.text.encode().decode()
        "".join((*chunk.breadcrumbs, *chunk.names)).encode()
    json.dumps(read.metadata, ensure_ascii=False).encode()


def test_a_long_topic_or_owner_does_not_stand_whole_in_every_chunk():
    record = {"owner": "o" * 5000, "topic": "t" * 5000, "list": ["a"] * 3000, "details": ["b"] * 100}
    document = parsed(record, 400)
    assert max(len(chunk.text) for chunk in document.chunks) <= 400
    assert max(len(crumb) for chunk in document.chunks for crumb in chunk.span.breadcrumbs) <= 100
    assert "".join(chunk.text for chunk in document.chunks).count("o") >= 5000


def test_odd_spacing_and_letters_keep_their_places():
    text = '  [ {"topic"  :"T\\u00e4nze" ,\r\n"list":[ "a\\"b" , "\U0001f40b" ] , "details" : [ ] } ]\n'
    read = read_record_file(text, 2000)
    assert read is not None
    count, listed = read.chunks
    assert count.text == "Total t\u00e4nze: 2"
    assert listed.text == 'T\u00e4nze\n1. a"b\n2. \U0001f40b'
    assert text[listed.start : listed.end] == '"a\\"b" , "\U0001f40b"'


@pytest.fixture
def open_collection(tmp_path: Path) -> Iterator[Callable[[], Collection]]:
    opened: list[Collection] = []

    def open_one() -> Collection:
        opened.append(Collection("c", tmp_path / "c", "word-hash-1", DIMENSION))
        return opened[-1]

    yield open_one
    for collection in opened:
        collection.close()


def test_the_example_college_answers_lists_counts_and_details(open_collection: Callable[[], Collection]):
    collection = open_collection()
    documents = [
        parse_document(path.name, path.read_bytes(), ParseLimits(1 << 20, 1 << 20, 2000))
        for path in sorted(COLLEGE.glob("*.json"))
    ]
    assert len(documents) >= 3
    collection.apply(change(*documents))
    for query, wanted in (
        ("total faculty of Hydrography", "Total faculty: 3 (Hydrography)"),
        ("how long is the boat Plover", "length m: 11.5"),
        ("courses of Harbour Law", "1. HL 100 Harbour Dues\n2. HL 200 Salvage and Wreck"),
    ):
        with collection.view() as view:
            request = RetrieveQuery(query, k=3, profile=Profile.PRECISE)
            found = retrieve(request, view, None).passages
        assert any(wanted in passage.text for passage in found), (query, [passage.text for passage in found])
        assert all(passage.is_derived for passage in found)
        for passage in found:
            text = (COLLEGE / Path(passage.path).name).read_text(encoding="utf-8")
            assert passage.origin_text == text[passage.start_char : passage.end_char] != ""


def test_the_example_college_does_not_contradict_itself():
    for path in COLLEGE.glob("*.json"):
        by_topic = {record["topic"]: record for record in json.loads(path.read_text(encoding="utf-8"))}
        for record in by_topic.values():
            if "list" in record and "details" in record:
                assert record["list"] == [one["name"] for one in record["details"]], (path.name, record["topic"])
        taught = {(course, one["name"]) for one in by_topic["Faculty"]["details"] for course in one["teaches"]}
        assert taught == {(one["name"], one["taught by"]) for one in by_topic["Courses"]["details"]}
        codes = {" ".join(name.split()[:2]) for name in by_topic["Courses"]["list"]}
        assert all(code in codes for one in by_topic["Courses"]["details"] for code in one["requires"])


def test_a_value_that_is_just_too_deep_to_be_read_again_makes_the_file_plain_data():
    for depth in range(850, 1050):
        text = '{"topic": "x", "list": ["a"], "extra": ' + "[" * depth + "]" * depth + "}"
        assert isinstance(parse_document("a.json", text.encode(), ParseLimits(1 << 20, 1 << 20, 2000)), ParsedDocument)
