"""What counts as finding an answer."""

import pytest

from retrieval_server.engine.tuning.labels import GoldSpan, KnownPaths, first_hit_rank, is_hit
from retrieval_server.model import ContentKind, Passage


def passage(path: str, start: int, end: int) -> Passage:
    return Passage("id", "d", path, start, end, 1, 1, "", (), "text", ContentKind.DOCS)


@pytest.mark.parametrize(
    ("found", "gold", "hits"),
    [
        (("data/a/b.py", 0, 100), ("data/a/b.py", 0, 100), True),
        (("data/a/b.py", 0, 100), ("a/b.py", 50, 150), True),
        (("b.py", 0, 100), ("data\\a/./b.py", 50, 150), True),
        (("data/a/b.py", 0, 100), ("c/b.py", 0, 100), False),
        (("data/ab.py", 0, 100), ("b.py", 0, 100), False),
        (("b.py", 0, 100), ("b.py", 100, 200), False),
        (("b.py", 0, 100), ("b.py", 0, 5), True),
        (("b.py", 0, 100), ("b.py", 0, 4), False),
        (("b.py", 0, 2000), ("b.py", 0, 40_001), False),
        (("b.py", 0, 0), ("b.py", 0, 0), False),
    ],
)
def test_the_same_file_and_a_twentieth_of_the_union(found: tuple, gold: tuple, hits: bool):
    assert is_hit(passage(*found), [GoldSpan(*gold)]) is hits


def test_any_gold_span_counts_and_the_first_passage_that_hits():
    gold = [GoldSpan("x.md", 0, 10), GoldSpan("b.py", 0, 10)]
    assert first_hit_rank([passage("y.md", 0, 10), passage("b.py", 0, 10), passage("x.md", 0, 10)], gold) == 2
    assert first_hit_rank([passage("y.md", 0, 10)], gold) is None


def test_a_path_is_known_when_it_ends_one_or_one_ends_it():
    known = KnownPaths(["src/app/main.py", "notes.md"])
    assert "main.py" in known
    assert "app/main.py" in known
    assert "/srv/me/src/app/main.py" in known
    assert "deep/notes.md" in known
    assert "other/main.py" not in known
    assert "ain.py" not in known
    assert "" not in known
    assert "." not in known
