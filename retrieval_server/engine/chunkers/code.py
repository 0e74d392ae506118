"""Source code by definition: a function or class stays whole where it fits, a large class is cut by its members.

The languages differ only in their tables (`Syntax`); one walker serves all.
"""

from collections.abc import Iterator

from tree_sitter import Node

from retrieval_server.engine.chunkers.char_offsets import CharOffsets
from retrieval_server.engine.chunkers.cuts import Cut, Scope, pieces_between
from retrieval_server.engine.chunkers.parsing import syntax_tree
from retrieval_server.engine.chunkers.pieces import Piece
from retrieval_server.engine.chunkers.plain import plain_pieces
from retrieval_server.engine.chunkers.syntax import Names, Syntax

# Another grammar is tried where the first leaves more than this broken.
_TOLERATED_SHARE = 0.1
_MAX_DEPTH = 16
_MAX_WRAPPERS = 8
# What stands between "#if" and the lines that it guards.
_GUARD_FIELDS = ("name", "condition")
# What is above a class's first member or a function's first line goes with it even where both together are too large,
# unless it is long enough to be worth finding by itself.
_OWN_HEAD_SHARE = 0.25
# What defines nothing and is not longer, such as `export default Name;`, is no passage by itself: it stays with the
# definition above it, even one with breadcrumbs of its own.
_MAX_LONE_CHARS = 80


def code_pieces(text: str, max_chunk_chars: int, syntax: Syntax) -> list[Piece]:
    """Return contiguous pieces that cover `text`. Broken syntax only costs some borders, never text.

    What no grammar reads in a reasonable time is cut by paragraph.
    """
    source = text.encode("utf-8")
    to_char = CharOffsets(text, source)
    walks: list[_Walk] = []
    for grammar in syntax.grammars:
        root = syntax_tree(source, grammar)
        if root is None:
            break
        walk = _Walk(syntax, to_char, max_chunk_chars)
        walk.block(root, 0, Scope(), 0)
        walks.append(walk)
        if walk.broken_chars <= len(text) * _TOLERATED_SHARE:
            break
    if not walks:
        return plain_pieces(text, max_chunk_chars)
    return pieces_between(min(walks, key=lambda walk: walk.broken_chars).cuts, len(text))


class _Walk:
    """One pass over a tree, from the first byte to the last, that notes where pieces end."""

    def __init__(self, syntax: Syntax, to_char: CharOffsets, max_chunk_chars: int) -> None:
        self._syntax = syntax
        self._to_char = to_char
        self._max_chunk_chars = max_chunk_chars
        self.cuts: list[Cut] = []
        self.broken_chars = 0

    def block(self, block: Node, start: int, scope: Scope, depth: int) -> None:
        """Cut at the members of `block`; `start` is where its head begins, in code points."""
        first_cut = len(self.cuts)
        members = block.children
        guard = [node for node in map(block.child_by_field_name, _GUARD_FIELDS) if node is not None]
        head_end = start
        previous: Node | None = None
        held: Node | None = None  # the first of the comments and attributes that wait for their statement
        for index, member in enumerate(members):
            end = self._to_char[member.end_byte]
            if not member.is_named and held is not None:
                pass  # the colon of "private:"
            elif not member.is_named or member in guard or self._joins(member, previous, block):
                held = None
                if len(self.cuts) > first_cut:
                    self.cuts[-1].end = end
                else:
                    head_end = end
            else:
                if held is None:
                    held = member
                    if len(self.cuts) == first_cut:
                        self._head(start, min(head_end, self._line_start(member)), scope)
                following = members[index + 1] if index + 1 < len(members) else None
                if not self._waits(member, following, end - self._to_char[held.start_byte]):
                    self._statement(held, member, scope, depth, first_cut)
                    held = None
            previous = member

    def _head(self, start: int, end: int, scope: Scope) -> None:
        if self._stands_alone(end - start):
            self.cuts.append(Cut(end, scope))

    def _joins(self, member: Node, previous: Node | None, block: Node) -> bool:
        """Tell whether `member` belongs to what ends on its line: a remark, a semicolon, a part of something broken."""
        is_more = member.type not in self._syntax.comments and member.end_byte - member.start_byte > 1
        if is_more and (not block.is_error or self._is_structural(member)):
            return False
        return member.start_point.row == (block.start_point.row if previous is None else _last_row(previous))

    def _waits(self, member: Node, following: Node | None, held_chars: int) -> bool:
        """Tell whether `member` belongs to what follows: an attribute, a comment right above, the start of a line."""
        if member.type in self._syntax.leading:
            return True
        if following is None:
            return False
        if member.type in self._syntax.comments:
            return following.start_point.row <= _last_row(member) + 1
        starts_line = following.is_named and not following.is_extra and following.start_point.row == _last_row(member)
        return starts_line and not self._stands_alone(held_chars) and not self._is_structural(member)

    def _is_structural(self, statement: Node) -> bool:
        if statement.is_error:
            return statement.start_point.row < statement.end_point.row
        node = self._unwrapped(statement)
        return node is not statement or node.type in self._syntax.transparent or bool(self._names(node))

    def _statement(self, first: Node, statement: Node, scope: Scope, depth: int, first_cut: int) -> None:
        """Cut behind `statement`, or at its members.

        `first` is the first of the comments that belong to it, `first_cut` the index of the first cut in its block.
        """
        start = self._to_char[first.start_byte]
        end = self._to_char[statement.end_byte]
        node = self._unwrapped(statement)
        names = self._names(node)
        fits = end - start <= self._max_chunk_chars
        if depth < _MAX_DEPTH:
            through = self._syntax.transparent.get(node.type)
            into = self._syntax.containers.get(node.type) if not fits else None
            body = through(node) if through else into(node) if into else None
            if body is not None:
                if node.is_error:
                    self.broken_chars += end - start
                inner = scope.through(names) if through else scope.inside(names)
                before = len(self.cuts)
                self._members(body, start, end, inner, depth + 1, first_cut)
                if not through and len(self.cuts) > before:
                    self._open(self.cuts[before], names)
                return
        if statement.has_error:
            self.broken_chars += end - start
        if names and not fits:
            self._large(statement, start, end, scope.inside(names))
            self._open(self.cuts[-1], names)
            return
        if not self._syntax.statements_only and self.cuts:
            above = self.cuts[-1]
            in_block = len(self.cuts) > first_cut
            if in_block and not names and above.scope != scope and end - start <= _MAX_LONE_CHARS:
                above.end = end
                return
            if fits and end - above.end > self._max_chunk_chars and (in_block or above.scope.may_share(scope)):
                # Alone it fits, with the blank lines or the head of the namespace above it it does not.
                self.cuts.append(Cut(max(above.end, self._line_start(first)), scope))
        self.cuts.append(Cut(end, scope, names, self._member_names(node) if names else ()))

    def _open(self, cut: Cut, names: Names) -> None:
        if not self._syntax.statements_only:
            cut.opens = (*filter(None, names[-1:]), *cut.opens)

    def _member_names(self, node: Node) -> Names:
        """Return the names that are defined right inside a class or the like that stays whole."""
        into = None if self._syntax.statements_only else self._syntax.containers.get(node.type)
        body = into(node) if into else None
        return tuple(dict.fromkeys(self._names_in(body, 0))) if body else ()

    def _names_in(self, block: Node, depth: int) -> Iterator[str]:
        for member in block.named_children:
            node = self._unwrapped(member)
            yield from filter(None, self._names(node)[-1:])
            through = self._syntax.transparent.get(node.type)
            body = through(node) if through and depth < _MAX_DEPTH else None
            if body is not None:
                yield from self._names_in(body, depth + 1)

    def _members(self, body: Node, start: int, end: int, scope: Scope, depth: int, first_cut: int) -> None:
        """Cut at the members of `body`; what closes it stays with the last or, if there is none, with what is above."""
        before = len(self.cuts)
        self.block(body, start, scope, depth)
        if len(self.cuts) > (before if scope.breadcrumbs else first_cut):
            self.cuts[-1].end = end
        else:
            self.cuts.append(Cut(end, scope))

    def _large(self, statement: Node, start: int, end: int, scope: Scope) -> None:
        line_start = self._line_start(statement)
        own_chars = end - line_start
        if own_chars <= self._max_chunk_chars and self._stands_alone(min(own_chars, line_start - start)):
            self.cuts.append(Cut(line_start, scope))
        self.cuts.append(Cut(end, scope))

    def _stands_alone(self, char_count: int) -> bool:
        return char_count >= self._max_chunk_chars * _OWN_HEAD_SHARE

    def _line_start(self, node: Node) -> int:
        return self._to_char[node.start_byte - node.start_point.column]

    def _names(self, node: Node) -> Names:
        naming = self._syntax.definitions.get(node.type)
        return naming(node) if naming else ()

    def _unwrapped(self, statement: Node) -> Node:
        node = statement
        for _ in range(_MAX_WRAPPERS):
            unwrap = self._syntax.wrappers.get(node.type)
            inner = unwrap(node) if unwrap else None
            if inner is None:
                break
            node = inner
        return node


def _last_row(node: Node) -> int:
    """Return the row of the last character of `node`; some comments end with their line's end."""
    row, column = node.end_point
    return row if column else row - 1
