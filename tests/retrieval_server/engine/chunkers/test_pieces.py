"""From pieces to chunks: what neighbours share."""

from retrieval_server.engine.chunkers.lines import LineIndex
from retrieval_server.engine.chunkers.pieces import Piece, chunks_of

TEXT = "a\nb\nc\n"


def labels(*pieces: Piece) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(c.breadcrumbs, c.names) for c in chunks_of(TEXT, LineIndex(TEXT), pieces, 100)]


def test_one_definition_lends_its_name_and_owners_to_the_breadcrumbs():
    assert labels(Piece(0, 2), Piece(2, 4, name="f", owners=("ns", "A")), Piece(4, 6)) == [(("ns", "A", "f"), ("f",))]


def test_several_definitions_lend_the_owners_that_they_share():
    one, other = Piece(0, 2, name="f", owners=("ns", "A")), Piece(2, 4, name="g", owners=("ns", "B"))
    assert labels(one, other) == [(("ns",), ("f", "g"))]
    assert labels(one, Piece(2, 4, name="g")) == [((), ("f", "g"))]


def test_owners_do_not_keep_neighbours_apart_and_breadcrumbs_do():
    assert len(labels(Piece(0, 2, owners=("a",)), Piece(2, 4, owners=("b",)))) == 1
    assert len(labels(Piece(0, 2, ("a",)), Piece(2, 4, ("b",)))) == 2


def test_members_are_names_but_no_breadcrumbs():
    assert labels(Piece(0, 2, name="A", members=("f", "g"))) == [(("A",), ("A", "f", "g"))]
    assert labels(Piece(0, 2, owners=("A",), members=("f",))) == [(("A",), ("f",))]


def test_what_defines_nothing_still_says_where_it_is():
    assert labels(Piece(0, 2, owners=("ns",)), Piece(2, 6, owners=("ns",))) == [(("ns",), ())]
