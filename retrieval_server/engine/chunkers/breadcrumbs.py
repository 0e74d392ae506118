"""What breadcrumbs may take: they are stored, indexed and shown with every chunk below a heading, however long."""

from collections.abc import Sequence

MAX_BREADCRUMB_CHARS = 200
MAX_BREADCRUMB_COUNT = 16
CUT_MARK = "…"
# Of a chain that is too deep, the outermost; the innermost fill the rest.
_OUTERMOST_COUNT = 4


def bounded(breadcrumbs: Sequence[str]) -> tuple[str, ...]:
    """Return breadcrumbs without what is too much: long ones end at a word, deep chains lack their middle.

    Nothing is lost to searches: a heading also stands in the text of the chunk that begins with it.
    """
    shown = tuple(one if len(one) <= MAX_BREADCRUMB_CHARS else _cut(one) for one in breadcrumbs)
    if len(shown) <= MAX_BREADCRUMB_COUNT:
        return shown
    innermost_count = MAX_BREADCRUMB_COUNT - _OUTERMOST_COUNT - 1
    return (*shown[:_OUTERMOST_COUNT], CUT_MARK, *shown[-innermost_count:])


def _cut(breadcrumb: str) -> str:
    start = breadcrumb[: MAX_BREADCRUMB_CHARS - len(CUT_MARK)]
    words = start.rsplit(maxsplit=1)[0] if not breadcrumb[len(start)].isspace() else start.rstrip()
    # One endless word is cut in its midst.
    return f"{words if len(words) * 2 > len(start) else start}{CUT_MARK}"
