"""Documents of every format, from a folder on disk to a passage that cites its place in them."""

import json
import zlib
from pathlib import Path

import grpc

from tests.support.client import run_client
from tests.support.pdf import pdf_of_contents, pdf_of_pages
from tests.support.processes import Server
from tests.support.rpc import document_text, retrieve

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Eelgrass\n", "Counting meadows of eelgrass from the air."]},
        {"cell_type": "code", "source": "meadow_count = 17", "outputs": [{"text": "barnacle"}]},
    ],
    "nbformat": 4,
}
FILES = {
    "manual.pdf": pdf_of_pages([["Cover"], ["The windlass is greased every Tuesday."]]),
    "study.ipynb": json.dumps(NOTEBOOK).encode(),
    "page.html": b"<nav>pelican</nav><h1>Fog</h1><p>The foghorn sounds twice a minute.</p><script>cormorant()</script>",
    "guide.rst": b"Lights\n======\n\n.. setting:: LAMP_HOURS\n\nLAMP_HOURS\n----------\n\nHow long a lantern burns.\n",
    "conf.yaml": b"dredger:\n  depth_m: 12\n",
    "wide.txt": "The ferry crosses the sound at noon, every single day.\n".encode("utf-16"),
}
QUESTIONS = {
    "when is the windlass greased": ("manual.pdf", ("page 2",)),
    "counting meadows of eelgrass": ("study.ipynb", ("Eelgrass",)),
    "how often does the foghorn sound": ("page.html", ("Fog",)),
    "LAMP_HOURS lantern": ("guide.rst", ("Lights", "LAMP_HOURS")),
    "dredger depth_m": ("conf.yaml", ("dredger",)),
    "when does the ferry cross the sound": ("wide.txt", ()),
}


def test_every_format_is_found_and_cited_by_its_place(
    server: Server, channel: grpc.Channel, tmp_path: Path, collection: str
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name, content in FILES.items():
        (tree / name).write_bytes(content)
    (tree / "locked.pdf").write_bytes(pdf_of_pages([["secret"]], is_encrypted=True))
    bomb = zlib.compress(b"q " * 20_000_000)
    (tree / "bomb.pdf").write_bytes(pdf_of_contents([bomb], content_filter=b"/Filter /FlateDecode "))

    run = run_client(server.address, "index", "tree", "--collection", collection, "--json", cwd=tmp_path)
    files = run.assert_ok().json["summary"]["files"]
    assert {file["relative_path"]: file["detail"] for file in files if file["outcome"] == "skipped"} == {
        "locked.pdf": "an encrypted PDF",
        "bomb.pdf": "parsing it takes too much time or memory, or crashes",
    }
    for question, (name, breadcrumbs) in QUESTIONS.items():
        (passage,) = retrieve(channel, question, collection=collection, k=1).passages
        assert (passage.path, tuple(passage.breadcrumbs)) == (f"tree/{name}", breadcrumbs)
        text = document_text(channel, collection, passage.path)
        assert text[passage.start_char : passage.end_char] == passage.text
    for dropped in ("barnacle", "pelican", "cormorant"):
        found = retrieve(channel, dropped, collection=collection, k=10).passages
        assert not any(dropped in passage.text for passage in found)
