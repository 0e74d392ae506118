"""Recall on the public question sets: one index of the whole tree, and no question says where it belongs."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.quality.conftest import VLLM, ServerOf
from tests.support.client import run_client

pytestmark = [pytest.mark.quality, pytest.mark.timeout(3600)]

DATASETS = "datasets/vllm-0.10.1"


@dataclass(frozen=True)
class Bound:
    """The least Recall@5, as a share, of one question set."""

    kind: str
    recall_at_5: float


BOUNDS = (Bound("docs", 0.92), Bound("code", 0.90))


def test_recall_at_5_stays_above_its_bounds(server_of: ServerOf, shared_dir: Path, tmp_path: Path) -> None:
    address = server_of(VLLM).address
    rows = [f"{'':6}  {'Recall@5':>8}  {'95 % (Wilson)':>15}  {'bound':>6}  Recall@1 / @3 / @10"]
    missed = []
    for bound in BOUNDS:
        name = f"dataset_{bound.kind}_public.json"
        asked, gold = (shared_dir / DATASETS / folder / name for folder in ("UnansweredQuestions", "AnsweredQuestions"))
        save = ("--save-directory", tmp_path / bound.kind)
        run_client(address, "search-dataset", asked, "--k", "10", *save, cwd=tmp_path).assert_ok()
        (results,) = (tmp_path / bound.kind).glob("*.json")
        judged = run_client(address, "evaluate", results, gold, "--k", "10", "--json", cwd=tmp_path)
        report = judged.assert_ok().json
        assert (report["question_count"], report["missing_count"]) == (100, 0)
        recall = {k: report["recall"][f"recall@{k}"] for k in (1, 3, 5, 10)}
        others = " / ".join(f"{recall[k]['recall']:.0%}" for k in (1, 3, 10))
        interval = f"{recall[5]['low']:.1%} – {recall[5]['high']:.1%}"
        rows.append(f"{bound.kind:6}  {recall[5]['recall']:8.1%}  {interval:>15}  {bound.recall_at_5:6.0%}  {others}")
        if recall[5]["recall"] < bound.recall_at_5:
            missed.append(bound.kind)
    print("\n" + "\n".join(rows))  # noqa: T201 - the table is what this is run for
    assert not missed, "\n".join(rows)
