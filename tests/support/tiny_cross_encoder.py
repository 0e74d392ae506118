"""A cross-encoder of a few hundred bytes: it counts the passage's pieces that the query has."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from retrieval_server.engine.ranking.cross_encoder import TOKENIZER_NAME

_WORDS = ["[UNK]", "[CLS]", "[SEP]", "gate", "berth", "storm", "signal", "tea", "a", "b"]


def write_tokenizer(folder: Path) -> None:
    """Write a tokenizer that knows the words above, each of which is one piece."""
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
