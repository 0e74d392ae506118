"""Notebooks: what people wrote in them, cell by cell."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval_server.model import ContentKind
from tests.retrieval_server.corpus.documents.extraction.parsed import outline, parsed


def cell(kind: str, source: str | list[str], **more: object) -> dict[str, object]:
    return {"cell_type": kind, "source": source, "metadata": {}, **more}


def notebook(*cells: dict[str, object], **metadata: object) -> str:
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4})


def test_cells_are_stored_with_a_marker_each_and_without_outputs():
    document = parsed(
        "a.ipynb",
        notebook(
            cell("markdown", ["# Tides\n", "How they are reckoned."]),
            cell("code", "x = 1\n# no heading", outputs=[{"text": ["a secret"]}]),
            cell("code", ""),
            cell("raw", "as it is"),
            language_info={"name": "julia"},
        ),
    )
    assert document.decoded.text == (
        "%% cell 1: markdown\n# Tides\nHow they are reckoned.\n\n"
        "%% cell 2: code\n```julia\nx = 1\n# no heading\n```\n\n"
        "%% cell 4: raw\nas it is\n"
    )
    assert (document.language, document.kind, document.title) == ("notebook", ContentKind.DOCS, "Tides")


def test_headings_are_breadcrumbs_across_cells():
    long = "word " * 30
    document = parsed(
        "a.ipynb",
        notebook(
            cell("code", f"first = '{long}'"),
            cell("markdown", f"# A\n\n{long}\n\n## B\n\n{long}"),
            cell("code", f"'''{long}'''"),
            cell("markdown", f"# C\n{long}"),
        ),
    )
    assert [(crumbs, text.splitlines()[0]) for crumbs, text in outline(document)] == [
        ((), "%% cell 1: code"),
        (("A",), "%% cell 2: markdown"),
        (("A", "B"), "## B"),
        (("C",), "%% cell 4: markdown"),
    ]


def test_a_fence_in_code_does_not_end_its_own():
    text = parsed("a.ipynb", notebook(cell("code", "s = '''\n```\n# not a heading\n```\n'''"))).decoded.text
    assert text.count("````") == 2


def test_older_notebooks_keep_their_cells_in_worksheets():
    heading = {"cell_type": "heading", "level": 2, "source": "Old"}
    old = {"worksheets": [{"cells": [heading, {"cell_type": "code", "input": ["y = 2"]}]}], "nbformat": 3}
    assert parsed("a.ipynb", json.dumps(old)).decoded.text == (
        "%% cell 1: markdown\n## Old\n\n%% cell 2: code\n```python\ny = 2\n```\n"
    )


@pytest.mark.parametrize(
    "source", ['{"cells": [', "[1, 2]", '{"cells": 3}', '{"cells": [3, {"source": 4}, {}]}', "null", "{" * 2000, "text"]
)
def test_what_is_no_notebook_is_stored_as_the_text_that_it_is(source: str):
    document = parsed("a.ipynb", source)
    assert (document.decoded.text, document.language, document.kind) == (source, "json", ContentKind.DATA)


def test_halves_of_surrogate_pairs_and_control_characters_are_not_stored():
    document = parsed("a.ipynb", '{"cells": [{"cell_type": "raw", "source": "a\\ud800b\\u0000c\\ud83d\\ude80"}]}')
    assert document.decoded.text == "%% cell 1: raw\na\ufffdbc🚀\n"


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["cells", "source", "cell_type", "worksheets", "level"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON)
@settings(deadline=None)
def test_any_json_is_a_document(value: object):
    parsed("a.ipynb", json.dumps(value)).decoded.text.encode()
