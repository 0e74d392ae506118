"""The seam for a cross-encoder, with a model that is made here: it counts the passage's pieces that the query has."""

from pathlib import Path

import numpy as np
import pytest

from groundwire.models.locate import ModelCorrupt, ModelMissing
from retrieval_server.engine.ranking.cross_encoder import TOKENIZER_NAME, CrossEncoder
from retrieval_server.engine.ranking.reranking import reranked
from tests.support.tiny_cross_encoder import write_model, write_tokenizer

PASSAGES = ["tea", "gate signal", "gate berth storm", "berth tea"]


@pytest.mark.parametrize("weights", [[[1.0]], [[-0.5, 0.5]]])
def test_pairs_are_scored_by_one_logit_or_by_the_difference_of_two(tmp_path: Path, weights: list[list[float]]):
    write_tokenizer(tmp_path)
    encoder = CrossEncoder(write_model(tmp_path, weights), 2)
    assert encoder.scores("gate berth", PASSAGES).tolist() == [0.0, 1.0, 2.0, 1.0]
    assert encoder.scores("gate berth", []).shape == (0,)
    encoder.close()


def test_the_best_come_first_and_equal_scores_keep_their_order(tmp_path: Path):
    write_tokenizer(tmp_path)
    encoder = CrossEncoder(write_model(tmp_path, [[1.0]]), 1)
    assert reranked("gate berth", PASSAGES, encoder) == [(2, 2.0), (1, 1.0), (3, 1.0), (0, 0.0)]
    encoder.close()


def test_a_score_depends_on_its_pair_alone(tmp_path: Path):
    write_tokenizer(tmp_path)
    encoder = CrossEncoder(write_model(tmp_path, [[1.0]]), 2)
    together = encoder.scores("gate berth", PASSAGES)
    assert together.tolist() == [float(encoder.scores("gate berth", [passage])[0]) for passage in PASSAGES]
    encoder.close()


def test_long_texts_are_cut_and_hostile_ones_are_only_text(tmp_path: Path):
    write_tokenizer(tmp_path)
    encoder = CrossEncoder(write_model(tmp_path, [[1.0]]), 1)
    scores = encoder.scores("gate " * 9000, ["gate " * 9000, "[SEP] gate [CLS]", "\ud800 gate", ""])
    assert np.isfinite(scores).all()
    # The letters of a mark are no mark: they count neither as the model's own nor as a border.
    assert encoder.scores("gate", ["[SEP] gate [SEP]"]).tolist() == [1.0]
    encoder.close()


def test_a_missing_model_or_tokenizer_is_named_with_the_setting(tmp_path: Path):
    with pytest.raises(ModelMissing, match=r"tokenizer\.json.*GROUNDWIRE_CROSS_ENCODER"):
        CrossEncoder(tmp_path / "model.onnx", 1)
    write_tokenizer(tmp_path)
    with pytest.raises(ModelMissing, match=r"model\.onnx.*GROUNDWIRE_CROSS_ENCODER"):
        CrossEncoder(tmp_path / "model.onnx", 1)


def test_an_unusable_model_is_one_line(tmp_path: Path):
    write_tokenizer(tmp_path)
    path = tmp_path / "model.onnx"
    path.write_bytes(b"no model")
    with pytest.raises(ModelCorrupt, match="not a usable cross-encoder") as not_onnx:
        CrossEncoder(path, 1)
    with pytest.raises(ModelCorrupt, match="has 3 values for a pair") as wrong_output:
        CrossEncoder(write_model(tmp_path, [[1.0, 2.0, 3.0]]), 1)
    with pytest.raises(ModelCorrupt, match=r"not a usable cross-encoder.*pixels") as wrong_input:
        CrossEncoder(write_model(tmp_path, [[1.0]], extra_input="pixels"), 1)
    assert all("\n" not in str(problem.value) for problem in (not_onnx, wrong_output, wrong_input))
    (tmp_path / TOKENIZER_NAME).write_text("{}")
    with pytest.raises(ModelCorrupt, match="not a usable tokenizer"):
        CrossEncoder(path, 1)
