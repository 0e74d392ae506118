"""client search: what it sends, and what it shows of hops."""

import json


def test_search_sends_what_was_typed(command_line, server):
    typed = [
        ("--include", "src/**"), ("--include", "lib/*"), ("--exclude", "**/x"), ("--language", "python"),
        ("--kind", "code"), ("--contains", "TODO"), ("--where", "year>=2020"), ("--where", "author=Ada"),
        ("--profile", "precise"), ("--hops", "2"), ("--balance",), ("--max-per-file", "3"), ("--no-rerank",),
        ("--lexical-weight", "2"),
        ("--dense-weight", "0.5"),
        ("--expanded-weight", "1.5"), ("--rank-constant", "7"), ("--pool-count", "90"), ("--margin-weight", "0.1"),
        ("--proximity-weight", "0.2"), ("--path-weight", "0.3"), ("--definition-weight", "0.4"),
    ]  # fmt: skip
    assert command_line("search", "q", *(word for option in typed for word in option)).exit_code == 0
    sent = server.state.last_retrieve
    wanted = sent.filter
    assert (list(wanted.include_paths), list(wanted.exclude_paths)) == (["src/**", "lib/*"], ["**/x"])
    assert (list(wanted.languages), list(wanted.kinds), list(wanted.contains)) == (["python"], [1], ["TODO"])
    assert [(one.key, one.range.min, one.equals) for one in wanted.metadata] == [
        ("year", 2020, ""),
        ("author", 0, "Ada"),
    ]
    assert (sent.profile, sent.hops, sent.balance, sent.max_per_file) == (2, 2, True, 3)
    assert sent.HasField("rerank")
    assert not sent.rerank
    fusion = sent.fusion
    assert (fusion.lexical_weight, fusion.dense_weight, fusion.expanded_weight) == (2, 0.5, 1.5)
    assert (fusion.rank_constant, fusion.pool_count) == (7, 90)
    assert (fusion.margin_weight, fusion.proximity_weight) == (0.1, 0.2)
    assert (fusion.path_weight, fusion.definition_weight) == (0.3, 0.4)
    command_line("search", "q")
    assert {field.name for field, _ in server.state.last_retrieve.ListFields()} == {"query", "collection"}


def test_search_says_what_the_second_hop_asked_and_which_passages_it_found(command_line):
    shown = command_line("search", "two facts", "--hops", 2).stdout
    assert "second hop: gull port" in shown
    assert "2. docs/page2.md:3-4  score 0.5000  hop 2" in shown
    found = json.loads(command_line("search", "two facts", "--hops", 2, "--json").stdout)
    assert found["second_hop"] == {"query": "gull port", "introduced_terms": ["gull"]}
    assert [p["hop"] for p in found["passages"][:2]] == [1, 2]


def test_a_glob_that_finds_nothing_is_explained(command_line):
    assert "whole display path" in command_line("search", "nothing", "--include", "*.md").stderr
