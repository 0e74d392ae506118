"""Source code to a syntax tree, within a time that grows with the text and not faster.

Parsers of this kind read well-formed code in linear time. Where something broken repeats itself, some take quadratic
time and memory, in steps that cannot be interrupted; so what only repeats itself is not shown to them, and what costs
far more than real code is given up.
"""

import time
import zlib
from itertools import groupby

from tree_sitter import Language, Node, Parser

# What is larger was not written by hand.
_MAX_PARSED_BYTES = 1024 * 1024
# Real code takes about 0.1 s of processor time a MB.
_BUDGET_S = 0.25
_BUDGET_S_PER_BYTE = 4 / 1_000_000
# Stretches of real code shrink to a third, tables of zeros and the like at most to a twelfth.
_STRETCH_BYTES = 2048
_MAX_SHRINKING = 16
# Kept at both ends of such a run, where a stretch may hold the end or the beginning of something else.
_KEPT_BYTES = 256
# A part of 4 bytes comes so often where 64 bytes or fewer repeat themselves; asked first since it is cheap.
_SAMPLE_BYTES = 4
_MANY_SAMPLES = _STRETCH_BYTES // 64
_BLANKED = bytes(byte if byte in b"\r\n" else ord(" ") for byte in range(256))
# The text of each name is read anew: little at a time, or names would cost more than the parse.
_READ_BYTES = 1024


def syntax_tree(source: bytes, grammar: Language) -> Node | None:
    """Return the root of the tree of `source` (UTF-8), or None where that would take far longer than real code does."""
    if len(source) > _MAX_PARSED_BYTES:
        return None
    # To some grammars a NUL is the end of the text, and all that follows is searched for it again and again.
    shown = _without_repetition(source.replace(b"\0", b" "))
    budget_s = _BUDGET_S + len(source) * _BUDGET_S_PER_BYTE
    # Other threads may hold this one up, so processor time counts; the clock is asked first since that is cheap.
    clock_s, processor_s = time.perf_counter() + budget_s, time.thread_time() + budget_s
    try:
        tree = Parser(grammar).parse(
            lambda offset, _: shown[offset : offset + _READ_BYTES],
            encoding="utf8",
            progress_callback=lambda _offset, _has_error: (
                time.perf_counter() > clock_s and time.thread_time() > processor_s
            ),
        )
    except ValueError:  # stopped at the end of its budget
        return None
    return tree.root_node


def _without_repetition(source: bytes) -> bytes:
    """Return `source` with spaces in place of what holds next to nothing; offsets and lines stay."""
    shown = bytearray(source)
    starts = range(0, len(source), _STRETCH_BYTES)
    for repeats, run in groupby(starts, lambda start: _repeats_itself(source[start : start + _STRETCH_BYTES])):
        if repeats:
            in_run = list(run)
            end = min(in_run[-1] + _STRETCH_BYTES, len(source))
            inner = slice(in_run[0] + _KEPT_BYTES, end - _KEPT_BYTES)
            shown[inner] = source[inner].translate(_BLANKED)
    return bytes(shown)


def _repeats_itself(stretch: bytes) -> bool:
    middle = len(stretch) // 2
    return stretch.count(stretch[middle : middle + _SAMPLE_BYTES]) >= _MANY_SAMPLES and (
        len(stretch) > _MAX_SHRINKING * len(zlib.compress(stretch, level=1))
    )
