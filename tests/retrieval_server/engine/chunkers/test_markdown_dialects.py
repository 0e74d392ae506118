"""Markdown of site generators: what they add to it breaks no section."""

from tests.retrieval_server.engine.chunkers.spans import chunks_in, outline


def crumbs(text: str) -> list[tuple[str, ...]]:
    return [chunk.breadcrumbs for chunk in chunks_in(text, "markdown")]


def test_front_matter_is_no_heading_and_goes_with_what_follows():
    text = "---\ntoc_depth: 3\n---\n\n# Guide\n\ntext\n\n## Part\n\nmore\n"
    assert outline(text, "markdown") == [(("Guide",), "---"), (("Guide", "Part"), "## Part")]
    assert crumbs("+++\nweight = 1\n+++\n\nintro\n\n# Guide\n\ntext\n") == [(), ("Guide",)]


def test_a_title_in_front_matter_stands_above_all_headings():
    assert crumbs("---\ntitle: 'Guide'\n---\nintro\n\n## Part\n\nmore\n") == [("Guide",), ("Guide", "Part")]
    assert crumbs("---\ntitle: >\n  Guide\n---\nintro\n") == [()]


def test_a_rule_at_the_start_is_no_front_matter():
    assert crumbs("---\n\n# A\n\ntext\n\n---\n\n# B\n\nmore\n") == [(), ("A",), ("B",)]


def test_admonitions_tabs_and_directives_are_text():
    text = (
        '# A\n\n!!! note "Read this"\n    # not a heading\n\n    text\n\n=== "Tab"\n\n    ## nor this\n\n'
        "??? tip\n    ===\n\n::: package.module\n    options:\n      show: true\n\n:::{note}\ntext\n:::\n"
    )
    assert crumbs(text) == [("A",)]
