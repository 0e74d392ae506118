"""Names that no passage holds are found, in whatever spelling they stand there; plain words are no names."""

import pytest

from retrieval_server.generation.reading import missing_names
from tests.retrieval_server.generation.documents import whole

PASSAGES = [
    whole("The `max_load_kg` of a GateCrane is 4000.\n", path="src/model_runner.md"),
    whole("Deployments run on Valkey.\n", path="b.md"),
]


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("What is max_load_kg of the GateCrane?", ()),
        ("What is maxLoadKg of the gate_crane in the ModelRunner?", ()),
        ("What is max_load_kg_v2?", ("max_load_kg_v2",)),
        ("How do I deploy it with Terraform on Valkey?", ("Terraform",)),
        ("Why is the limit 5000?", ("5000",)),
        ("Does everybody sleep quietly?", ()),
        ("Terraform?", ()),  # the first word of a sentence is written with a capital anyway
    ],
)
def test_missing_names(question: str, missing: tuple[str, ...]) -> None:
    assert missing_names(question, PASSAGES) == missing


def test_without_passages_every_name_is_missing() -> None:
    assert missing_names("What is max_load?", []) == ("max_load",)
