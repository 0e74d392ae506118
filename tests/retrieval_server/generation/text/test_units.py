"""Units of passages: sentences, lists, commands, statements with their docstrings, each verbatim and not too long."""

from hypothesis import given

from retrieval_server.generation.text.units import UnitKind, units_of
from retrieval_server.model import ContentKind, Passage
from tests.retrieval_server.generation.checking.test_citations import documents_cut_into_passages
from tests.retrieval_server.generation.documents import whole

GUIDE = """\
# Opening

Turn the wheel. Then wait.

```console
$ lock open \\
    --gate 2
```

- first gate
- second gate
"""
CODE = '''\
def lift(self, load):
    """Lift a load. Slowly."""
    # Heavy ones
    # need two cranes.
    if load > (
        LIMIT
    ):
        raise TooHeavyError(load)
'''


def units(text: str, kind: ContentKind) -> list[tuple[UnitKind, str]]:
    return [(unit.kind, text[unit.start : unit.end]) for unit in units_of(whole(text, kind=kind))]


def test_prose_has_sentences_headings_commands_items_and_lists() -> None:
    assert units(GUIDE, ContentKind.DOCS) == [
        (UnitKind.HEADING, "# Opening"),
        (UnitKind.SENTENCE, "Turn the wheel."),
        (UnitKind.SENTENCE, "Then wait."),
        (UnitKind.COMMAND, "$ lock open \\\n    --gate 2"),
        (UnitKind.LIST, "- first gate\n- second gate"),
        (UnitKind.ITEM, "- first gate"),
        (UnitKind.ITEM, "- second gate"),
    ]


def test_a_long_comment_is_cut_into_sentences_and_not_into_lines() -> None:
    filler = "".join(f"/// Line {number} is about nothing at all.\n" for number in range(30))
    text = f"    /// Closes the gate when the\n    /// water rises. Opens it again.\n///\n{filler}fn close() {{}}\n"
    comments = [found for kind, found in units(text, ContentKind.CODE) if kind is UnitKind.COMMENT]
    assert comments[:3] == [
        "Closes the gate when the\n    /// water rises.",
        "Opens it again.",
        "Line 0 is about nothing at all.",
    ]


def test_code_has_signatures_comments_and_conditions_with_what_they_lead_to() -> None:
    found = units(CODE, ContentKind.CODE)
    assert found[0] == (UnitKind.SIGNATURE, 'def lift(self, load):\n    """Lift a load. Slowly."""')
    assert (UnitKind.COMMENT, "# Heavy ones\n    # need two cranes.") in found
    condition = "    if load > (\n        LIMIT\n    ):"
    assert (UnitKind.STATEMENT, f"{condition}\n        raise TooHeavyError(load)") in found


@given(documents_cut_into_passages())
def test_units_of_any_text_are_spans_that_are_not_blank(cut: tuple[str, list[Passage]]) -> None:
    for passage in cut[1]:
        for unit in units_of(passage):
            assert 0 < unit.end - unit.start <= 600
            assert passage.text[unit.start : unit.end].strip()
