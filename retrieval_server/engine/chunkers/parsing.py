"""Source code to a syntax tree, within a time that grows with the text and not faster.

Parsers of this kind take a time that is linear in well-formed code, and quadratic or worse in some that is broken on
purpose. What costs so much is not parsed.
"""

import re
import time

from tree_sitter import Language, Node, Parser

# What is larger was not written by hand.
_MAX_PARSED_BYTES = 1024 * 1024
# Real code takes about 0.15 s of processor time a MB.
_BUDGET_S = 0.25
_BUDGET_S_PER_BYTE = 4 / 1_000_000
# Two steps of a parser cannot be interrupted and are quadratic in the length of a chain: generics or comparisons
# that were never closed, and pipelines.
_MAX_CHAIN_COUNT = 2000
_CHAIN_END = re.compile(rb"[;{}]")
# The text of each name is read anew: little at a time, or names would cost more than the parse.
_READ_BYTES = 1024


def syntax_tree(source: bytes, grammar: Language) -> Node | None:
    """Return the root of the tree of `source` (UTF-8), or None where that would take far longer than real code does."""
    if len(source) > _MAX_PARSED_BYTES or _has_long_chain(source):
        return None
    # To some grammars a NUL is the end of the text, and all that follows is searched for it again and again.
    source = source.replace(b"\0", b" ")
    budget_s = _BUDGET_S + len(source) * _BUDGET_S_PER_BYTE
    # Other threads may hold this one up, so processor time counts; the clock is asked first since that is cheap.
    clock_s, processor_s = time.perf_counter() + budget_s, time.thread_time() + budget_s
    try:
        tree = Parser(grammar).parse(
            lambda offset, _: source[offset : offset + _READ_BYTES],
            encoding="utf8",
            progress_callback=lambda _offset, _has_error: (
                time.perf_counter() > clock_s and time.thread_time() > processor_s
            ),
        )
    except ValueError:  # stopped at the end of its budget
        return None
    return tree.root_node


def _has_long_chain(source: bytes) -> bool:
    return _link_count(source) > _MAX_CHAIN_COUNT and any(
        _link_count(run) > _MAX_CHAIN_COUNT for run in _CHAIN_END.split(source)
    )


def _link_count(run: bytes) -> int:
    return max(run.count(b"<"), run.count(b"|"))
