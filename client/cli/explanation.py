"""Why a passage is where it is, as a table."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

from collections.abc import Iterator, Sequence

import client
from client.cli.output import printable

_HEADER = ("list", "rank", "raw score", "contribution", "matched terms")
_LEFT_ALIGNED = (0, 4)


def explanation_lines(passage: client.Passage) -> Iterator[str]:
    """Return the lines of a passage's table: its part in each list, what multiplied their sum, and what came of it."""
    rows = [_HEADER, *(_row(one) for one in passage.list_scores)]
    rows += [(f"prior {printable(prior.name)}", "", "", f"× {prior.factor:g}", "") for prior in passage.priors]
    rows.append(("score", "", "", f"{passage.score:.4f}", ""))
    return _aligned(rows)


def _row(one: client.ListScore) -> tuple[str, ...]:
    name = printable(one.list)
    if not one.rank:
        return name, "–", "–", f"{one.contribution:.4f}", ""
    return (
        name,
        str(one.rank),
        f"{one.raw_score:.4f}",
        f"{one.contribution:.4f}",
        printable(" ".join(one.matched_terms)),
    )


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    for row in rows:
        cells = (
            cell.ljust(width) if column in _LEFT_ALIGNED else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
