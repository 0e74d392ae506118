"""YAML, TOML, JSON and JSON lines by key."""

import json

from tests.retrieval_server.engine.chunkers.spans import chunks_in, outline

LONG = "v" * 90


def places(text: str, language: str, limit: int = 120) -> list[tuple[str, ...]]:
    return [chunk.breadcrumbs for chunk in chunks_in(text, language, limit)]


def test_a_small_file_is_one_chunk_that_lists_its_keys():
    for language, text in (("yaml", "a: 1\nb: 2\n"), ("toml", "a = 1\nb = 2\n"), ("json", '{"a": 1, "b": 2}')):
        (only,) = chunks_in(text, language)
        assert (only.breadcrumbs, only.names) == ((), ("a", "b"))


def test_yaml_that_is_too_large_is_cut_by_the_keys_below():
    text = f"top: {LONG}\nservices:\n  web:\n    image: {LONG}\n    'port': {LONG}\n  db:\n    image: {LONG}\n"
    assert places(text, "yaml") == [
        ("top",),
        ("services", "web", "image"),
        ("services", "web", "port"),
        ("services", "db"),
    ]


def test_yaml_items_are_called_by_their_own_name():
    text = f"steps:\n- label: Build # 2min\n  run: {LONG}\n- run: {LONG}\n  id: 'test it'\n- {LONG}\n"
    assert places(text, "yaml", 130) == [("steps", "Build"), ("steps", "test it"), ("steps",)]


def test_comments_right_above_a_yaml_key_belong_to_it():
    text = f"a: {LONG}\n\n# about b\n# and more\nb: {LONG}\n"
    assert [line for _, line in outline(text, "yaml", 120)] == [f"a: {LONG}", "# about b"]


def test_keys_within_a_block_of_text_are_text():
    script = "".join(f"    echo: {i}{'x' * 40}\n" for i in range(4))
    assert set(places(f"run: |\n{script}next: {LONG}\n", "yaml")) == {("run",), ("next",)}


def test_yaml_documents_keys_with_colons_and_broken_lines_are_told_apart():
    text = f'---\n"a:b": {LONG}\nhttp://x/y: {LONG}\n{{{{ template }}}}\n---\n\tnot yaml\nc: {LONG}\n'
    assert places(text, "yaml", 160) == [("a:b",), ("http://x/y",), ("c",)]


def test_toml_is_cut_by_table_and_a_large_table_by_key():
    text = f'title = "x"\n\n# about it\n[tool.one]\na = "{LONG}"\n\n[[tool.two]]\nb = "{LONG}"\n"c d" = "{LONG}"\n'
    assert outline(text, "toml", 130) == [
        (("title",), 'title = "x"'),
        (("tool.one",), "# about it"),
        (("tool.two", "b"), "[[tool.two]]"),
        (("tool.two", "c d"), f'"c d" = "{LONG}"'),
    ]


def test_brackets_in_toml_arrays_and_strings_are_no_tables():
    text = f'list = [\n["{LONG}"],\n[1]\n]\ns = """\n[no]\n{LONG}"""\nt = \'\'\'\n[no]\n{LONG}\'\'\'\n'
    assert places(text, "toml") == [("list",), ("s",), ("t",)]


def test_a_bracket_that_is_never_closed_hides_no_tables():
    text = f"a = [\n'{LONG}'\n[real]\nb = '{LONG}'\n"
    assert places(text, "toml") == [("a",), ("real",)]


def test_json_that_is_too_large_is_cut_by_the_keys_below():
    text = json.dumps({"a": LONG, "b": {"c": LONG, "d": [{"x": LONG}, {"name": "second", "x": "short"}]}}, indent=2)
    assert outline(text, "json", 150) == [
        (("a",), "{"),
        (("b", "c"), '  "b": {'),
        (("b", "d"), '    "d": ['),
        (("b", "d", "second"), "      {"),
    ]


def test_json_in_one_line_is_cut_between_its_members():
    text = json.dumps({"a": LONG, "b": LONG}, separators=(",", ":"))
    assert outline(text, "json", 120) == [(("a",), '{"a":"' + LONG + '",'), (("b",), '"b":"' + LONG + '"}')]


def test_brackets_and_colons_in_json_strings_and_comments_are_text():
    text = f'{{\n  // a comment: {{ [ "\n  "a": "}} ] \\" , : {LONG}",\n  /* {{ */ "b": "{LONG}"\n}}\n'
    assert places(text, "json", 150) == [("a",), ("b",)]


def test_broken_json_keeps_its_borders_where_it_can():
    text = f'{{"a": "{LONG}\n"b": {{"c": "{LONG}"}}}}]]]]\n"d": [[[{{\n'
    found = chunks_in(text, "json", 120)
    assert "".join("".join(text[c.start_char : c.end_char].split()) for c in found) == "".join(text.split())


def test_a_key_as_long_as_a_text_is_cut_where_it_is_a_breadcrumb():
    (name,) = {crumb for place in places(json.dumps({"k" * 5000: LONG}), "json") for crumb in place}
    assert len(name) <= 120


def test_json_lines_are_grouped_but_not_cut():
    text = "".join(json.dumps({"n": n, "text": "word " * 8}) + "\n" for n in range(9))
    found = chunks_in(text, "jsonl", 130)
    assert len(found) == 5
    for chunk in found:
        for line in text[chunk.start_char : chunk.end_char].splitlines():
            json.loads(line)
