"""The independent check of answers finds what was made up, and lets through what stands in the sources."""

import json
from pathlib import Path

from tests.quality.support import invalid_citations, unheld_claims, write_dataset

SOURCES = ["def lift(max_load=4000):\n    return GateCrane(max_load)\n", "docs/gates.md"]


def test_made_up_identifiers_and_numbers_are_found() -> None:
    answer = "The GateCrane lifts 4000 kg by `lift`; see max_load_kg, Gate2 and 17.5. [1]"
    assert unheld_claims(answer, SOURCES) == {"max_load_kg", "Gate2", "17.5"}


def test_plain_words_list_numbers_and_what_the_sources_hold_are_no_finds() -> None:
    assert unheld_claims("1. Quietly, the GateCrane takes `max_load`.\n2) 4000 at most.", SOURCES) == set()


def test_a_citation_outside_of_its_passage_or_file_is_invalid(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one two three")
    passage = {"file_path": "a.md", "first_character_index": 0, "last_character_index": 7}

    def cited(first: int, last: int) -> dict:
        return {"citations": [passage | {"first_character_index": first, "last_character_index": last}]}

    assert invalid_citations(cited(0, 3), [passage], tmp_path) == []
    assert invalid_citations(cited(0, 9), [passage], tmp_path) == ["a.md:0-9"]
    assert invalid_citations(cited(3, 4), [passage], tmp_path) == ["a.md:3-4"]  # only a space


def test_a_dataset_is_written_as_the_client_reads_it(tmp_path: Path) -> None:
    path = write_dataset(tmp_path / "d.json", [{"question_id": "a", "question": "ä?"}])
    assert json.loads(path.read_text(encoding="utf-8"))["rag_questions"][0]["question"] == "ä?"
