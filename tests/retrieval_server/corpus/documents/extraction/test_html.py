"""HTML pages: what a reader of the page reads, in Markdown's notation."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval_server.model import ContentKind
from tests.retrieval_server.corpus.documents.extraction.parsed import outline, parsed

PAGE = """<!DOCTYPE html><html><head><title>Harbour
 &amp; gate</title><style>p {color: red}</style></head><body>
<nav><a href="/">Home</a></nav><div role="navigation">Menu</div>
<h1>Gate<a class="headerlink" href="#gate">¶</a></h1>
<p>The <b>gate</b> opens
at <code>high_water</code>.<br>It closes later.</p><script>track()</script>
<h2>Steps</h2><ul><li>Look<ul><li>twice</li></ul></li><li><p>Open</p></li></ul>
<pre><code>gate.open()
  # wait
</code></pre>
<table><tr><th>Tide</th><th>Hour</th></tr><tr><td>low</td><td>3</td></tr></table>
<img src="a.png" alt="A gate"><!-- note --><svg><text>drawn</text></svg>
</body></html>"""

TEXT = """# Gate

The gate opens at high_water.
It closes later.

## Steps

- Look

- twice

- Open

```
gate.open()
  # wait
```

Tide | Hour
low | 3

A gate
"""
TAGS = [
    "<p>", "</p>", "<pre>", "</pre>", "<h1>", "<li>", "<td>", "<main>", "</main>", "<script>", "</script>",
    "<template>", "<!--", "&amp;", "&#0;", "<", "x", "\n", "# ", "🚀",
]  # fmt: skip


def test_a_page_is_stored_as_its_reader_reads_it():
    document = parsed("a.html", PAGE)
    assert document.decoded.text == TEXT
    assert (document.language, document.kind, document.title) == ("html", ContentKind.DOCS, "Harbour & gate")
    assert [crumbs for crumbs, _ in outline(document)] == [("Gate",), ("Gate", "Steps")]


def test_where_a_page_marks_its_content_the_rest_is_left_out():
    text = parsed(
        "a.htm", "<header>Logo</header><main><h2>T</h2><p>Body</p></main><footer>Imprint</footer>"
    ).decoded.text
    assert text == "## T\n\nBody\n"


def test_without_a_title_the_first_heading_is_it():
    assert parsed("a.html", "<h2>First</h2>text<h2>Second</h2>").title == "First"


def test_text_that_looks_like_markup_makes_no_heading():
    document = parsed("a.html", "<p># one</p><p>two<br>---<br>three</p><p>```</p><p># four</p>")
    assert {crumbs for crumbs, _ in outline(document)} == {()}


def test_a_page_without_text_is_stored_as_the_data_that_it_is():
    source = "<html><head><title>App</title></head><body><script>start(1)</script></body></html>"
    document = parsed("a.html", source)
    assert (document.decoded.text, document.kind, document.title) == (source, ContentKind.DATA, "App")


@pytest.mark.parametrize("mark", ["{% extends 'base.html' %}", "{# a comment #}", "<%= x %>", "<?php x(); ?>"])
def test_a_template_is_code(mark: str):
    source = f"\n{mark}\n<h1>{{{{ title }}}}</h1>\n"
    document = parsed("a.html", source)
    assert (document.decoded.text, document.language, document.kind) == (source, "template", ContentKind.CODE)


def test_depth_costs_no_stack():
    text = parsed("a.html", "<table>" * 20_000 + "text" + "</table>" * 20_000).decoded.text
    assert text == "text\n"


@given(st.lists(st.sampled_from(TAGS)))
@settings(deadline=None)
def test_any_mixture_of_tags_is_a_document(parts: list[str]):
    parsed("a.html", "x" + "".join(parts)).decoded.text.encode()
