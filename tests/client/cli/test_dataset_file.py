"""Question files that are none, or not quite: each is told in one short line."""

import pytest


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"\xff\xfe", "is not UTF-8 (byte 0)"),
        (b"[]", "holds no JSON object"),
        (b"{}", "rag_questions: must be a list"),
        (b'{"rag_questions": {}}', "rag_questions: must be a list"),
        (b'{"rag_questions": [], "rag_questions": []}', "has 'rag_questions' twice"),
        (b'{"rag_questions": [], "k": 0}', "k: must be a number from 1 to 2,147,483,647"),
    ],
)
def test_a_malformed_dataset_is_one_line(command_line, tmp_path, content, message):
    (tmp_path / "set.json").write_bytes(content)
    run = command_line("search-dataset", "set.json")
    assert run.exit_code == 1
    assert run.stderr.startswith("client: set.json: ")
    assert message in run.stderr
    assert run.stderr.count("\n") == 1


def test_what_an_item_says_twice_or_too_large_is_named_in_short(command_line, tmp_path, server):
    place = '{"file_path": "a", "first_character_index": 0, "last_character_index": %s}'
    items = [
        '{"question_id": "a", "question": "one", "question": "other"}',
        '{"question_id": "b", "question": "q", "sources": [%s]}' % (place % f"1{'0' * 4000}"),
        '{"question_id": "c", "question": "q", "sources": [%s]}' % (place % '2, "file_path": "b"'),
        '{"question_id": "%s", "question": " "}' % ("d" * 100_000),
        '{"question_id": "e", "question": "good"}',
        '{"question_id": "f", "question": "q", "sources": 5}',
    ]
    (tmp_path / "set.json").write_text(f'{{"rag_questions": [{", ".join(items)}]}}')
    run = command_line("search-dataset", "set.json")
    told = run.stderr.splitlines()
    assert told[0] == "client: item 1 (question_id ''): has 'question' twice"
    assert told[1].endswith("must be numbers, 0 ≤ first ≤ last ≤ 2,147,483,647")
    assert told[2].endswith("sources: has 'file_path' twice")
    assert told[3].endswith("question: must be a text that is not blank")
    assert told[4].endswith("sources: must be a list of objects")
    assert max(map(len, told)) < 250
    assert "good" in server.state.queries
