"""Language and kind by name, and prose by its looks."""

import pytest

from retrieval_server.engine.places.languages import is_prose, language_of
from retrieval_server.model import ContentKind


@pytest.mark.parametrize(
    ("path", "language", "kind"),
    [
        ("a/b.py", "python", ContentKind.CODE),
        ("README.MD", "markdown", ContentKind.DOCS),
        ("conf/x.yaml", "yaml", ContentKind.DATA),
        ("x.toml", "toml", ContentKind.DATA),
        ("x.json", "json", ContentKind.DATA),
        ("log.jsonl", "jsonl", ContentKind.DATA),
        ("guide.rst", "restructuredtext", ContentKind.DOCS),
        ("Demo.ipynb", "notebook", ContentKind.DOCS),
        ("page.html", "html", ContentKind.DOCS),
        ("Makefile", "make", ContentKind.CODE),
        ("docker/Dockerfile.cpu", "dockerfile", ContentKind.CODE),
        ("CMakeLists.txt", "cmake", ContentKind.CODE),
        (".env", "ini", ContentKind.DATA),
        ("conf/prod.env", "ini", ContentKind.DATA),
        (".gitignore", "text", ContentKind.DOCS),
        ("lib/index.d.cts", "typescript", ContentKind.CODE),
        ("include/pool.tpp", "cpp", ContentKind.CODE),
        ("pkg/api.pxd", "python", ContentKind.CODE),
        ("app/main.dart", "dart", ContentKind.CODE),
        ("BUILD.bazel", "starlark", ContentKind.CODE),
        ("locale/de/app.po", "gettext", ContentKind.DATA),
        ("web/app.js.map", "sourcemap", ContentKind.DATA),
        ("LICENSE", "text", ContentKind.DOCS),
        ("odd.xyz", "text", ContentKind.DOCS),
    ],
)
def test_by_name(path: str, language: str, kind: ContentKind):
    assert language_of(path) == (language, kind)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The server keeps a lease.\nIt is renewed every second.\n", True),
        ("Title\n\nOne sentence of several words here.\n\nEnd", True),
        ("服务器每秒更新一次租约。\n如果它停止,另一个会接管。\n", True),
        ("東京\n大阪\n名古屋\n", False),
        ("setup.py\npkg/a.py\npkg/b.py\npkg/c.py\n", False),
        ("numpy==2.0\ngrpcio>=1.6  # pin\ntqdm\nredis\n", False),
    ],
)
def test_prose_has_sentences(text: str, expected: bool):
    assert is_prose(text) is expected
