"""The seam for a cross-encoder, with a model that is made here: it counts the passage's pieces that the query has."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from groundwire.models.locate import ModelCorrupt, ModelMissing
from retrieval_server.engine.cross_encoder import TOKENIZER_NAME, CrossEncoder, reranked

_WORDS = ["[UNK]", "[CLS]", "[SEP]", "gate", "berth", "storm", "signal", "tea", "a", "b"]


def write_tokenizer(folder: Path) -> None:
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(_WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.add_special_tokens(["[UNK]", "[CLS]", "[SEP]"])
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    tokenizer.save(str(folder / TOKENIZER_NAME))


def write_model(folder: Path, output_weights: list[list[float]], extra_input: str | None = None) -> Path:
    """Write a graph: (pieces of the query equal to pieces of the passage, counted) times `output_weights`."""
    shape = [1, "pieces"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "token_type_ids")]
    if extra_input:
        inputs.append(helper.make_tensor_value_info(extra_input, TensorProto.INT64, shape))
    constants = [
        numpy_helper.from_array(np.array([2], np.int64), "last_special"),
        numpy_helper.from_array(np.array([2], np.int64), "axis_2"),
        numpy_helper.from_array(np.array([1], np.int64), "axis_1"),
        numpy_helper.from_array(np.array([1, 2], np.int64), "both_axes"),
        numpy_helper.from_array(np.array(output_weights, np.float32), "weights"),
        numpy_helper.from_array(np.array([-1, 1], np.int64), "as_column"),
    ]
    nodes = [
        helper.make_node("Greater", ["input_ids", "last_special"], ["is_word"]),
        helper.make_node("Cast", ["token_type_ids"], ["in_passage"], to=TensorProto.BOOL),
        helper.make_node("Not", ["in_passage"], ["in_query"]),
        helper.make_node("And", ["is_word", "in_passage"], ["passage_word"]),
        helper.make_node("And", ["is_word", "in_query"], ["query_word"]),
        helper.make_node("Unsqueeze", ["input_ids", "axis_2"], ["as_rows"]),
        helper.make_node("Unsqueeze", ["input_ids", "axis_1"], ["as_columns"]),
        helper.make_node("Equal", ["as_rows", "as_columns"], ["same"]),
        helper.make_node("Unsqueeze", ["query_word", "axis_2"], ["query_rows"]),
        helper.make_node("Unsqueeze", ["passage_word", "axis_1"], ["passage_columns"]),
        helper.make_node("And", ["query_rows", "passage_columns"], ["across"]),
        helper.make_node("And", ["same", "across"], ["shared"]),
        helper.make_node("Cast", ["shared"], ["shared_numbers"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["shared_numbers", "both_axes"], ["count"], keepdims=0),
        helper.make_node("Reshape", ["count", "as_column"], ["column"]),
        helper.make_node("MatMul", ["column", "weights"], ["logits"]),
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, len(output_weights[0])])
    graph = helper.make_graph(nodes, "shared_words", inputs, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(folder / "model.onnx"))
    return folder / "model.onnx"


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
