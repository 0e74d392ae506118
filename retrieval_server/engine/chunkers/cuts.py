"""Where pieces of source code end, and what they are called."""

from collections.abc import Sequence
from dataclasses import dataclass

from retrieval_server.engine.chunkers.pieces import Piece
from retrieval_server.engine.chunkers.syntax import Names


@dataclass(frozen=True, slots=True)
class Scope:
    """The names around a block: `breadcrumbs` keep its pieces apart from others, `owners` do not."""

    breadcrumbs: Names = ()
    owners: Names = ()

    def inside(self, names: Names) -> "Scope":
        """Return the scope of what is kept apart under `names`."""
        return Scope((*self.breadcrumbs, *self.owners, *filter(None, names)))

    def through(self, names: Names) -> "Scope":
        """Return the scope of what only belongs to `names`."""
        return Scope(self.breadcrumbs, (*self.owners, *filter(None, names)))

    def may_share(self, other: "Scope") -> bool:
        """Tell whether a chunk may hold pieces of both."""
        return self.breadcrumbs == other.breadcrumbs


@dataclass(slots=True)
class Cut:
    """The end of a piece in code points; the piece begins where the last one ended.

    `names` are those of what it defines, from the outside in; `members` are defined inside that. `opens` are
    what begins with the piece and is too large for one chunk, from the outside in.
    """

    end: int
    scope: Scope
    names: Names = ()
    members: Names = ()
    opens: Names = ()


def pieces_between(cuts: Sequence[Cut], char_count: int) -> list[Piece]:
    """Return contiguous pieces that cover a text of `char_count` code points."""
    pieces: list[Piece] = []
    start = 0
    for cut in cuts:
        if cut.end > start:
            owners = (*cut.scope.owners, *cut.names[:-1])
            name = "".join(cut.names[-1:])
            pieces.append(Piece(start, cut.end, cut.scope.breadcrumbs, name, owners, cut.members, cut.opens))
            start = cut.end
    if start < char_count:
        pieces.append(Piece(start, char_count))
    return pieces
