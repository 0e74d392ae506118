"""The table that explains a passage."""

import client
from client.cli.explanation import explanation_lines


def test_a_row_a_list_then_priors_then_the_score():
    passage = client.Passage(
        "id", "d", "a.py", 0, 1, 1, 1, "x", client.SpanKind.VERBATIM, (), "python", client.ContentKind.CODE, 0.5,
        (
            client.ListScore("bm25", 12, 9.25, 0.6, ("lease", "renew\x1b[2J")),
            client.ListScore("dense", 0, 0.0, 0.0, ()),
        ),
        (client.Prior("test_source", 0.8),), 1,
    )  # fmt: skip
    assert list(explanation_lines(passage)) == [
        "list               rank  raw score  contribution  matched terms",
        "bm25                 12     9.2500        0.6000  lease renew\N{REPLACEMENT CHARACTER}[2J",
        "dense                 –          –        0.0000",
        "prior test_source                          × 0.8",
        "score                                     0.5000",
    ]
