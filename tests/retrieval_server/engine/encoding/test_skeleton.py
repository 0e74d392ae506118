"""What is embedded of code."""

import pytest

from retrieval_server.engine.encoding.skeleton import _remembered_parts_of, code_window, skeleton


def test_comments_come_as_they_are_before_the_names_that_they_do_not_say() -> None:
    text = '''
def release(self, block_id):
    """Give a block back to the pool."""
    # nobody refers to it
    self._free.append(block_id)
'''
    window = code_window("pool.py", ["Pool"], text)
    assert window == "pool py Give a block back to the pool. nobody refers to it release id free append"


@pytest.mark.parametrize(
    "text",
    [
        "/* Give a block back. */ void release();",
        "// Give a block back.\nvoid release();",
        "/// Give a block back.\nfn release() {}",
        "'''Give a block back.'''\ndef release(): ...",
        "# Give a block back.\nrelease() { :; }",
    ],
)
def test_comments_of_many_languages_are_read(text: str) -> None:
    assert "Give a block back." in code_window("pool", [], text)


@pytest.mark.parametrize(
    "text", ["#include <pool.h>", "#define PAGE 4", "#[derive(Debug)] struct Page;", 'get("http://a/b")']
)
def test_what_only_looks_like_a_comment_is_code(text: str) -> None:
    assert code_window("a", [], text) == skeleton(f"a {text}")


def test_code_without_comments_is_its_names_alone() -> None:
    assert code_window("pool.py", [], "def getBlock(x1): return HTTPServer_2") == "pool py get block http server"


@pytest.mark.parametrize("text", ["'''" * 5000, "/*" * 5000, "#" * 9000, "//" * 5000, '"""' + "a " * 9000])
def test_hostile_comments_cost_little_and_stay_short(text: str) -> None:
    assert len(code_window("a.py", [], text).split()) <= 100


def test_a_comment_that_nothing_closes_hides_none_of_the_others() -> None:
    text = "/* one */ a /* two\n// three\n/* four\n'''five'''"
    assert code_window("x", [], text).split() == ["one", "three", "five", "two", "four"]


@pytest.mark.timeout(20)
def test_openings_that_nothing_closes_are_read_in_time_that_grows_with_them() -> None:
    assert code_window("a.py", [], "/* " * 100_000) == "py"


def test_blobs_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    before = _remembered_parts_of.cache_info().currsize
    blob = "aB3" * 600
    assert skeleton(f"x = '{blob}'").split() == []
    assert _remembered_parts_of.cache_info().currsize <= before + 1
