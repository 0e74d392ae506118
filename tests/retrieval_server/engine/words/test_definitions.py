"""Names and where they are defined."""

import pytest

from retrieval_server.engine.words.definitions import definition_terms, names_in, wanted_definitions
from retrieval_server.model import ContentKind


def test_a_definition_is_found_by_its_name_and_within_what_encloses_it() -> None:
    assert definition_terms(ContentKind.CODE, ["Pool", "release"], ["release"], "def release(self): ...") == [
        "=release",
        "=pool/release",
    ]


def test_what_a_module_assigns_is_defined_there_and_locals_are_not() -> None:
    text = "MAX_BLOCKS = 4\nsize: int = 3\n    local = 1\nif a == b:\n    pass\n#define PAGE_SIZE 4096\n"
    assert definition_terms(ContentKind.CODE, [], [], text) == ["=max_blocks", "=size", "=page_size"]


@pytest.mark.parametrize(
    "text",
    [
        "class Pool(Base):",
        "    async def pool(self):",
        "pub(crate) struct Pool {",
        "impl X {\n    pub fn pool() {",
        "export default class Pool {",
        "func (s *Server) Pool() {",
        "enum class Pool : int {",
        "public abstract class Pool {",
        "type Pool interface {",
    ],
)
def test_the_first_line_of_a_definition_defines_it_however_long_it_goes_on(text: str) -> None:
    assert "=pool" in definition_terms(ContentKind.CODE, ["Pool"], [], text)


def test_the_keys_of_a_data_file_are_defined_by_it() -> None:
    terms = definition_terms(ContentKind.DATA, ["shuffle"], [], 'shuffle:\n  method: "tasks"\n  split-every: 4\n')
    assert terms == ["=shuffle", "=method", "=split-every", "=shuffle/method", "=shuffle/split-every"]


def test_assignments_shown_in_prose_define_nothing() -> None:
    assert definition_terms(ContentKind.DOCS, ["Setup"], [], "llm = LLM()") == []


@pytest.mark.parametrize(
    ("asked", "parts"),
    [
        ("Pool.release", ["pool", "release"]),
        ("engine::Pool->release()", ["engine", "pool", "release"]),
        ("`MAX_BLOCKS`", ["max_blocks"]),
        ("  pool  ", ["pool"]),
        ("", []),
        ("...", []),
    ],
)
def test_a_name_is_read_as_it_is_written(asked: str, parts: list[str]) -> None:
    assert names_in(asked) == parts


def test_the_definition_within_its_encloser_weighs_most() -> None:
    wanted = wanted_definitions(["engine", "pool", "release"])
    assert wanted == {"=release": 1.0, "=pool/release": 2.0}
    assert wanted_definitions([]) == {}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("line", ["let\n", "static\n", "export let\n", "pub static\n"])
def test_lines_of_nothing_but_modifiers_are_read_in_time_that_grows_with_them(line: str) -> None:
    assert definition_terms(ContentKind.CODE, [], [], line * 50_000) == []


def test_words_before_a_name_may_stand_on_lines_of_their_own() -> None:
    text = (
        "export\ndefault\nabstract class Pool {\n}\ntemplate <typename T>\nstatic inline\nstruct Block {};\nfinal = 3\n"
    )
    assert definition_terms(ContentKind.CODE, [], [], text) == ["=final", "=pool", "=block"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("typedef struct node {\n  int value;\n} node_t;", ["=node"]),
        ("typedef struct {\n  int value;\n} node_t;", []),  # its name is that of the syntax tree
        ("typedef unsigned long word_t;", []),
    ],
)
def test_a_typedef_defines_the_tag_of_its_type_and_no_keyword(text: str, terms: list[str]) -> None:
    assert definition_terms(ContentKind.CODE, [], [], text) == terms


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
@pytest.mark.parametrize("kind", [ContentKind.CODE, ContentKind.DATA])
def test_what_ends_the_lines_makes_no_difference(kind: ContentKind, line_end: str) -> None:
    text = "import os\nsize = 3\nclass Pool:\nname: a\n"
    terms = definition_terms(kind, [], [], text)
    assert len(terms) > 1
    assert definition_terms(kind, [], [], text.replace("\n", line_end)) == terms
