"""Source trees that the questions of `tests/quality/trees` were written over, from the registry pip is set up for."""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import urllib.parse
import urllib.request
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import platformdirs
import pytest

_SIMPLE_JSON = "application/vnd.pypi.simple.v1+json"


@dataclass(frozen=True)
class Tree:
    """A source distribution: `name` is its folder below `tests/quality/trees`, `root` what its archive unpacks to."""

    name: str
    project: str
    root: str
    sha256: str


TREES = (
    Tree("scrapy", "scrapy", "scrapy-2.19.0", "34130726582b64c91531162ab277c4053e558876d49ba219cb43679e71d80a87"),
    Tree("dask", "dask", "dask-2026.8.0", "8a94c37b5de6d869343340dc26c3c3acca7ec48a3abdabe00ea3abb1125884d5"),
    Tree(
        "tvm_ffi",
        "apache-tvm-ffi",
        "apache_tvm_ffi-0.1.9",
        "d2d402587e8906de0a07f4746aa78f3d452c7efe3625d4bb39ac2ad693bce530",
    ),
)


def corpora_dir() -> Path:
    """Return the folder, outside of the project, that trees are kept in."""
    cache = os.environ.get("GROUNDWIRE_CORPORA_DIR")
    root = Path(cache) if cache else platformdirs.user_cache_path("groundwire") / "corpora"
    root.mkdir(parents=True, exist_ok=True)
    return root


def fetched(tree: Tree) -> Path:
    """Return the tree's folder, downloading it once; tests skip where the registry does not have it."""
    folder = corpora_dir() / tree.root
    if folder.is_dir():
        return folder
    try:
        packed = _download(tree)
    except OSError as error:
        pytest.skip(f"{tree.root} cannot be fetched: {error}")
    found = hashlib.sha256(packed).hexdigest()
    if found != tree.sha256:
        pytest.fail(f"{tree.root}: sha256 {found} instead of {tree.sha256}")
    unfinished = corpora_dir() / f".{tree.root}.{os.getpid()}"
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(unfinished, filter="data")
    (unfinished / tree.root).rename(folder)
    unfinished.rmdir()
    return folder


def _download(tree: Tree) -> bytes:
    page = urllib.parse.urljoin(_index_url(), f"{tree.project}/")
    ask = urllib.request.Request(page, headers={"Accept": _SIMPLE_JSON})
    with urllib.request.urlopen(ask, timeout=120) as reply:
        files = json.load(reply)["files"]
    link = next((file["url"] for file in files if file["filename"] == f"{tree.root}.tar.gz"), None)
    if link is None:
        raise OSError("no such file in the registry")
    with urllib.request.urlopen(urllib.parse.urljoin(page, link), timeout=300) as reply:
        content: bytes = reply.read()
    return content


def _index_url() -> str:
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    found = (
        os.environ.get("PIP_INDEX_URL")
        or subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    )
    if not found:
        from pip._internal.models.index import PyPI

        found = PyPI.simple_url
    return found.rstrip("/") + "/"
