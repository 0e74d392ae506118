"""What is too large for one chunk is found by its name where it begins."""

import pytest

from tests.retrieval_server.engine.chunkers.spans import chunks_in

_LINES = 60
# (language, what opens it, a line of it whose 1 is counted up, what closes it, the name)
LARGE = [
    ("c", "static int tide_at(int hour) {", "    hour += 1;", "}", "tide_at"),
    ("cpp", "int Basin::tide_at(int hour) {", "    hour += 1;", "}", "tide_at"),
    ("cuda", "__global__ void tide_at(int* hours) {", "    hours[0] += 1;", "}", "tide_at"),
    ("go", "func (b *Basin) TideAt(hour int) {", "\thour += 1", "}", "TideAt"),
    ("java", "record Basin(int depth) {", "  int depth1() { return 1; }", "}", "Basin"),
    ("javascript", "Basin.prototype.tideAt = function (hour) {", "  hour += 1;", "};", "tideAt"),
    ("rust", "fn tide_at(hour: i32) {", "    hour + 1;", "}", "tide_at"),
    ("shell", "tide_at() {", "    echo 'hour 1'", "}", "tide_at"),
    ("typescript", "interface Basin {", "  depth1(hour: number): number;", "}", "Basin"),
]


@pytest.mark.parametrize(("language", "opening", "line", "closing", "name"), LARGE)
def test_the_first_chunk_alone_defines_it(language: str, opening: str, line: str, closing: str, name: str):
    lines = (line.replace("1", f"{number}") for number in range(_LINES))
    text = "\n".join((opening, *lines, closing, ""))
    found = chunks_in(text, language, 300)
    assert len(found) > 2
    assert [name in chunk.names for chunk in found] == [True] + [False] * (len(found) - 1)
    assert all(name in chunk.breadcrumbs for chunk in found)


def test_a_method_of_a_large_class_is_defined_below_it():
    text = (
        "class Basin {\n  int tideAt(int hour) {\n" + "    hour += 1;\n" * 60 + "  }\n  int depth() { return 1; }\n}\n"
    )
    found = chunks_in(text, "java", 300)
    assert found[0].breadcrumbs == ("Basin", "tideAt")
    assert found[0].names == ("Basin", "tideAt")
    assert all(chunk.names == () for chunk in found[1:-1])
    assert found[-1].names == ("depth",)


def test_a_long_comment_above_is_not_where_it_is_defined():
    text = "/*\n" + " * Reckons the tide.\n" * 10 + " */\nint tide_at(int hour) {\n" + "  hour += 1;\n" * 40 + "}\n"
    found = chunks_in(text, "c", 300)
    [first] = [chunk for chunk in found if "tide_at" in chunk.names]
    assert text[first.start_char : first.end_char].startswith("int tide_at(")
