"""Synonym tables: what they add to a query, and what is wrong with one names its entry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.engine.lexical import synonyms
from retrieval_server.engine.lexical.bm25 import MAX_QUERY_TERMS, lexical_query
from retrieval_server.engine.lexical.synonyms import NO_SYNONYMS, SynonymGroup, SynonymTable
from retrieval_server.engine.words.analyser import analyse_terms
from retrieval_server.errors import InvalidRequest

TABLE = SynonymTable.of_toml(
    """
    [two_way]
    TP = "tensor parallelism"
    "KV cache" = ["key-value store", "attention memory"]
    IT = "information technology"
    MRR = "mean reciprocal rank"

    [one_way]
    accelerator = ["GPU", "CUDA device"]
    """
)


def added(query: str, table: SynonymTable = TABLE) -> set[str]:
    expanded = table.expanded(query)
    return set() if expanded is None else expanded.weight_by_term.keys() - lexical_query(query).weight_by_term.keys()


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("How does TP work?", {"tensor", "parallel"}),
        ("tensor-parallelism settings", {"tp"}),
        ("tensor and parallelism", set()),
        ("size of the kv cache", {"key", "valu", "store", "attent", "memori"}),
        ("attention memory", {"kv", "cach", "key", "valu", "store"}),
        ("which accelerators", {"gpu", "cuda", "devic"}),
        ("which gpu", set()),
        ("nothing of it", set()),
        ("the IT department", {"inform", "technolog"}),
        ("", set()),
    ],
)
def test_a_query_that_mentions_a_term_also_asks_for_what_the_table_adds(query: str, terms: set[str]):
    assert added(query) >= terms
    assert bool(added(query)) == bool(terms)


def test_the_query_keeps_its_own_terms_and_weights():
    expanded = TABLE.expanded("What is TP?")
    assert expanded is not None
    own = lexical_query("What is TP?").weight_by_term
    assert {term: expanded.weight_by_term[term] for term in own} == own


def test_a_query_without_synonyms_has_no_expansion():
    assert TABLE.expanded("lease renewal") is None
    assert NO_SYNONYMS.expanded("TP") is None


def test_groups_and_toml_make_the_same_table():
    toml = SynonymTable.of_toml('[two_way]\nTP = "tensor parallelism"\n[one_way]\nDB = ["database"]')
    groups = [SynonymGroup(("TP", "tensor parallelism")), SynonymGroup(("DB",), ("database",))]
    assert SynonymTable.of_groups(groups) == toml
    assert added("DB", SynonymTable.of_groups(groups)) == {"databas"}


@pytest.mark.parametrize(
    ("toml", "field", "said"),
    [
        ("[two_way", "toml", "TOML"),
        ("[other]\na = 'b'", "toml.other", "two_way"),
        ("two_way = 3", "toml.two_way", "table"),
        ("[two_way]\na = 3", "toml.two_way.a", "text"),
        ("[two_way]\na = []", "toml.two_way.a", "text"),
        ("[two_way]\na = ['b', 3]", "toml.two_way.a", "text"),
        ("[two_way]\na = '!!'", "toml.two_way.a", "no word"),
        ("[two_way]\na = 'A'", "toml.two_way.a", "the same"),
        (f"[two_way]\na = '{'b' * 201}'", "toml.two_way.a", "characters"),
        ("[one_way]\na = 'b'\nb = 'a'", "toml.one_way.b", "a → b → a"),
        ("[one_way]\na = 'b'\nb = 'c'\nc = 'a'", "toml.one_way.c", "a → b → c → a"),
        ("[two_way]\na = 'b'\n[one_way]\nb = 'a'", "toml.one_way.b", "already"),
        ("[two_way]\na = 'b'\n[one_way]\nb = 'x'\nx = 'a'", "toml.one_way.x", "leads back"),
    ],
)
def test_what_is_wrong_names_its_entry(toml: str, field: str, said: str):
    with pytest.raises(InvalidRequest) as caught:
        SynonymTable.of_toml(toml)
    assert [one.field for one in caught.value.field_errors] == [field]
    assert said in caught.value.message


def test_a_group_that_is_wrong_names_its_number():
    for group in (SynonymGroup(("a",)), SynonymGroup((), ("a", "b")), SynonymGroup(tuple(map(str, range(70))))):
        with pytest.raises(InvalidRequest) as caught:
            SynonymTable.of_groups([SynonymGroup(("x", "y")), group])
        assert caught.value.field_errors[0].field == "groups[1]"


def test_a_chain_of_ten_thousand_entries_is_checked_at_once_and_a_circle_found():
    chain = [SynonymGroup((f"t{i}x",), (f"t{i + 1}x",)) for i in range(9_999)]
    SynonymTable.of_groups(chain)
    with pytest.raises(InvalidRequest, match="leads back"):
        SynonymTable.of_groups([*chain, SynonymGroup(("t9999x",), ("t0x",))])
    with pytest.raises(InvalidRequest, match="at most 10,000"):
        SynonymTable.of_groups([*chain, *chain])


@given(st.text(max_size=200))
def test_any_query_can_be_expanded(query: str):
    TABLE.expanded(query)


def test_what_a_query_asks_for_has_a_bound_and_what_it_mentions_first_goes_first():
    names = [f"berth{letter}" for letter in "abcdefgh"]
    table = SynonymTable.of_groups([SynonymGroup((name, *(f"{name}of{n}" for n in range(60)))) for name in names])
    expanded = table.expanded(" ".join(names))
    assert expanded is not None
    asked, own = list(expanded.weight_by_term), list(lexical_query(" ".join(names)).weight_by_term)
    assert len(asked) == MAX_QUERY_TERMS
    assert asked[: len(own)] == own
    assert not any(term.startswith("berthhof") for term in asked)


def test_each_term_of_a_table_is_analysed_once_for_all_queries(monkeypatch: pytest.MonkeyPatch):
    analysed: list[str] = []

    def watched(text: str) -> list[str]:
        analysed.append(text)
        return analyse_terms(text)

    table = SynonymTable.of_groups([SynonymGroup(tuple(f"berth{n}" for n in range(64)))])
    monkeypatch.setattr(synonyms, "analyse_terms", watched)
    for _ in range(2):
        table.expanded("no word of it")
    assert sorted(text for text in analysed if text.startswith("berth")) == sorted(table.groups[0].terms)
