"""Scripts without an ending are read as what their first line says."""

import pytest

from retrieval_server.model import ContentKind
from tests.retrieval_server.corpus.documents.extraction.parsed import parsed


@pytest.mark.parametrize(
    ("first_line", "language"),
    [
        ("#!/bin/sh", "shell"),
        ("#! /bin/bash -e", "shell"),
        ("#!/usr/bin/env python3", "python"),
        ("#!/usr/local/bin/python3.11 -u", "python"),
        ("#!/usr/bin/env -S LANG=C perl -w", "perl"),
        ("#!/usr/bin/env node\r", "javascript"),
        ("#!/usr/bin/Rscript --vanilla", "r"),
    ],
)
def test_by_interpreter(first_line: str, language: str):
    document = parsed("bin/tide-tables", f"{first_line}\n\nreckon 1 2\n")
    assert (document.language, document.kind) == (language, ContentKind.CODE)


def test_functions_of_a_script_are_known():
    document = parsed("bin/tide-tables", "#!/bin/sh\n# Prints the tides.\nreckon() {\n  echo high\n}\n")
    assert document.chunks[0].span.names == ("reckon",)


@pytest.mark.parametrize("text", ["#!\nNotes on the tides.", "#!/tides/run\nx", " #!/bin/sh\nx", "#! sh"])
def test_other_texts_stay_texts(text: str):
    assert parsed("bin/tide-tables", text).language == "text"


def test_the_ending_says_more_than_the_first_line():
    assert parsed("tides.py", "#!/bin/sh\nx = 1\n").language == "python"
