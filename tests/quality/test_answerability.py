"""How answerability tells questions that a tree answers from those that it cannot, how reliable its value is, and what
is refused.

The constants of `engine/answerability.py` are fitted on these trees; `python -m benchmarks.answerability` fits them
anew, and shows what they are worth on a tree that was left out, which is nearly the same.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

import client
from tests.quality.conftest import VLLM, ServerOf
from tests.quality.measures import roc_auc, wilson
from tests.support.trees import TREES

pytestmark = [pytest.mark.quality, pytest.mark.timeout(3600)]

QUALITY = Path(__file__).parent
K = 10
ANSWER_K = 5
BIN_COUNT = 5
ANSWERABLE, ALL = "answerable", "unanswerable"
LEAST_AUC = {"other_domain": 0.97, "near_miss": 0.70, ALL: 0.85}
MOST_REFUSED_OF_ANSWERABLE, LEAST_REFUSED = 0.10, 0.75


class Asked(NamedTuple):
    """A question's kind, ANSWERABLE among them, its answerability, and whether an answer was refused."""

    kind: str
    score: float
    is_refused: bool


def _answerable(tree_name: str, request: pytest.FixtureRequest) -> list[str]:
    if tree_name == VLLM:
        datasets: Path = request.getfixturevalue("shared_dir") / "datasets" / "vllm-0.10.1" / "UnansweredQuestions"
        files = [datasets / f"dataset_{kind}_public.json" for kind in ("code", "docs")]
    else:
        files = [QUALITY / "trees" / tree_name / "precise.json"]
    return [one["question"] for file in files for one in json.loads(file.read_text("utf-8"))["rag_questions"]]


def _unanswerable(tree_name: str) -> list[tuple[str, str]]:
    name = "questions" if tree_name == VLLM else tree_name
    loaded = json.loads((QUALITY / "unanswerable" / f"{name}.json").read_text("utf-8"))
    return [(one["question"], one["kind"]) for one in loaded["questions"]]


def reliability(asked: Sequence[Asked]) -> list[str]:
    """Return a row for each bin: the mean value and the share that is answerable, both kinds weighing alike."""
    answerable_count = sum(one.kind == ANSWERABLE for one in asked)
    weights = {True: 0.5 / answerable_count, False: 0.5 / (len(asked) - answerable_count)}
    rows = []
    for number in range(BIN_COUNT):
        inside = [one for one in asked if min(int(one.score * BIN_COUNT), BIN_COUNT - 1) == number]
        if inside:
            weighed = [(weights[one.kind == ANSWERABLE], one) for one in inside]
            total = sum(weight for weight, _ in weighed)
            mean = sum(weight * one.score for weight, one in weighed) / total
            share = sum(weight for weight, one in weighed if one.kind == ANSWERABLE) / total
            bounds = f"{number / BIN_COUNT:.1f} – {(number + 1) / BIN_COUNT:.1f}"
            rows.append(f"  {bounds:9}  {len(inside):5}  {mean:5.2f}  {share:10.2f}")
    return rows


@pytest.mark.parametrize("tree_name", [VLLM, *(tree.name for tree in TREES)])
def test_answerability_separates_and_what_is_refused(
    server_of: ServerOf, tree_name: str, request: pytest.FixtureRequest
) -> None:
    questions = [(text, ANSWERABLE) for text in _answerable(tree_name, request)] + _unanswerable(tree_name)
    asked = []
    with client.Client(server_of(tree_name).address) as groundwire:
        # Whether it is refused is decided before anything is generated.
        extractive = client.AnswerOptions(mode=client.AnswerMode.EXTRACTIVE)
        for text, kind in questions:
            score = groundwire.retrieve(text, k=K).answerability
            is_refused = groundwire.answer(text, k=ANSWER_K, options=extractive).state is client.AnswerState.SKIPPED
            asked.append(Asked(kind, score, is_refused))
    positives = [one.score for one in asked if one.kind == ANSWERABLE]
    rows = [f"\n{tree_name}", f"  {'kind':13} {'count':>5}  {'ROC-AUC':>7}  refused (95 %, Wilson)"]
    auc, refused = {}, {}
    for kind in dict.fromkeys((*(one.kind for one in asked), ALL)):
        some = [one for one in asked if (one.kind != ANSWERABLE if kind == ALL else one.kind == kind)]
        if kind != ANSWERABLE:
            auc[kind] = roc_auc(positives, [one.score for one in some])
        refused_count = sum(one.is_refused for one in some)
        refused[kind] = refused_count / len(some)
        low, high = wilson(refused_count, len(some))
        shown = f"{auc[kind]:7.3f}" if kind in auc else f"{'':7}"
        rows.append(
            f"  {kind:13} {len(some):5}  {shown}  {refused[kind]:4.0%} ({max(low, 0):.0%} – {min(high, 1):.0%})"
        )
    rows += [f"  {'value':9}  {'count':>5}  {'mean':>5}  answerable (both kinds weighing alike)", *reliability(asked)]
    print("\n".join(rows))  # noqa: T201 - the table is what this is run for
    assert not {kind: auc[kind] for kind, least in LEAST_AUC.items() if auc[kind] < least}
    if tree_name == VLLM:
        assert refused[ANSWERABLE] <= MOST_REFUSED_OF_ANSWERABLE
        assert refused[ALL] >= LEAST_REFUSED
