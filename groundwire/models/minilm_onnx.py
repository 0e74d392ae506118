"""Builds the ONNX graphs of a BERT-style sentence encoder from its weights: token ids in, a unit vector out.

Two graphs are built, by hand from onnxruntime's fused CPU operators, which its own optimiser would not all choose:

- fp32, the reference: (batch, sequence) ids with an attention mask.
- int8, what the server runs: one text, (1, sequence) ids, no mask. Activations are quantised by one scale for each
  tensor, so in a batch a text's vector would depend on its neighbours; a graph that takes one text cannot.

Both sum the token vectors and normalise the sum: the mean's divisor would cancel in the L2 normalisation.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
import onnx
from numpy.typing import NDArray

from groundwire.models.minilm_names import ATTENTION_MASK, EMBEDDING, INPUT_IDS
from groundwire.models.onnx_graph import MICROSOFT, GraphBuilder
from groundwire.models.quantisation import MATRIX_PEAK, TABLE_PEAK, quantise_columns, smoothing_factors

Weights = Mapping[str, NDArray[np.float32]]

_WORDS = "embeddings.word_embeddings.weight"
_LAYER_NORM_EPSILON = 1e-12


def fp32_graph(weights: Weights, head_count: int) -> bytes:
    """Return the float32 model: `input_ids` and `attention_mask`, (batch, sequence) int64 → `embedding`, float32."""
    return _Fp32Encoder(weights, head_count).build()


def int8_graph(weights: Weights, head_count: int) -> bytes:
    """Return the dynamically quantised model: `input_ids`, (1, sequence) int64 → `embedding`, (1, hidden) float32."""
    return _Int8Encoder(weights, head_count).build()


class _Encoder(ABC):
    """What both graphs have in common: the order of the operations."""

    batch: int | str
    input_names: tuple[str, ...]

    def __init__(self, weights: Weights, head_count: int) -> None:
        self.graph = GraphBuilder()
        self.weights = weights
        self.head_count = head_count

    def build(self) -> bytes:
        positions = self.weights["embeddings.position_embeddings.weight"]
        norm = "embeddings.LayerNorm"
        hidden = self._layer_norm(self._embeddings(positions), norm)
        for layer in range(_layer_count(self.weights)):
            hidden, norm = self._layer(hidden, norm, f"encoder.layer.{layer}")
        pooled = self.graph.node("LpNormalization", [self._token_sum(hidden)], axis=-1, p=2)
        inputs = [
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, [self.batch, "sequence"])
            for name in self.input_names
        ]
        return self.graph.serialise("sentence_encoder", inputs, pooled, EMBEDDING, [self.batch, positions.shape[1]])

    def _embeddings(self, positions: NDArray[np.float32]) -> str:
        # Every token is of segment 0, so that segment's vector is part of the position's.
        table = positions + self.weights["embeddings.token_type_embeddings.weight"][0]
        used = self.graph.node(
            "Slice",
            [
                self.graph.constant("position_segment", table),
                self.graph.constant("first", np.zeros(1, np.int64)),
                self.graph.node("Shape", [INPUT_IDS], start=1, end=2),
            ],
        )
        return self.graph.node("Add", [self.words(), used])

    def _layer(self, hidden: str, norm: str, prefix: str) -> tuple[str, str]:
        """Add one layer to `hidden`, which the layer norm `norm` gave; return its output and its last layer norm."""
        attended = self.attention(hidden, norm, f"{prefix}.attention.self")
        attended = self.linear(attended, f"{prefix}.attention.output.dense")
        norm = f"{prefix}.attention.output.LayerNorm"
        hidden = self._layer_norm(self.graph.node("Add", [attended, hidden]), norm)
        inner = self.linear(hidden, f"{prefix}.intermediate.dense", norm)
        inner = self.linear(self.graph.node("Gelu", [inner], domain=MICROSOFT), f"{prefix}.output.dense")
        norm = f"{prefix}.output.LayerNorm"
        return self._layer_norm(self.graph.node("Add", [inner, hidden]), norm), norm

    def _layer_norm(self, value: str, norm: str) -> str:
        # Not the fused SkipLayerNormalization: its CPU kernel takes over five times as long as Add and this one.
        return self.graph.node(
            "LayerNormalization",
            [value, self.vector(f"{norm}.weight"), self.vector(f"{norm}.bias")],
            axis=-1,
            epsilon=_LAYER_NORM_EPSILON,
        )

    def _token_sum(self, hidden: str) -> str:
        axis = self.graph.constant("axis_1", np.ones(1, np.int64))
        row = self.graph.node("Unsqueeze", [self.token_weights(), axis])
        return self.graph.node("Squeeze", [self.graph.node("MatMul", [row, hidden]), axis])

    def vector(self, name: str) -> str:
        return self.graph.constant(name, self.weights[name])

    def query_key_value(self, prefix: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the three projections' weights side by side, (hidden, 3·hidden), and their biases."""
        parts = ("query", "key", "value")
        matrix = np.concatenate([self.weights[f"{prefix}.{part}.weight"].T for part in parts], axis=1)
        return matrix, np.concatenate([self.weights[f"{prefix}.{part}.bias"] for part in parts])

    @abstractmethod
    def words(self) -> str:
        """Add the look-up of the word vectors."""

    @abstractmethod
    def linear(self, value: str, name: str, norm: str | None = None) -> str:
        """Add `value`, which the layer norm `norm` gave if one did, times a matrix, plus its bias."""

    @abstractmethod
    def attention(self, hidden: str, norm: str, prefix: str) -> str:
        """Add the three projections of `hidden`, which the layer norm `norm` gave, and the attention."""

    @abstractmethod
    def token_weights(self) -> str:
        """Add (batch, sequence) float32: 1 for a token that counts, 0 for padding."""


class _Fp32Encoder(_Encoder):
    batch = "batch"
    input_names = (INPUT_IDS, ATTENTION_MASK)

    def words(self) -> str:
        return self.graph.node("Gather", [self.vector(_WORDS), INPUT_IDS])

    def linear(self, value: str, name: str, norm: str | None = None) -> str:  # noqa: ARG002 - for int8 alone
        matrix = self.graph.constant(f"{name}.weight", self.weights[f"{name}.weight"].T)
        return self.graph.node("Add", [self.graph.node("MatMul", [value, matrix]), self.vector(f"{name}.bias")])

    def attention(self, hidden: str, norm: str, prefix: str) -> str:  # noqa: ARG002 - for int8 alone
        matrix, bias = self.query_key_value(prefix)
        inputs = [
            hidden,
            self.graph.constant(f"{prefix}.qkv.weight", matrix),
            self.graph.constant(f"{prefix}.qkv.bias", bias),
            self.graph.node("Cast", [ATTENTION_MASK], to=onnx.TensorProto.INT32),
        ]
        return self.graph.node("Attention", inputs, domain=MICROSOFT, num_heads=self.head_count)

    def token_weights(self) -> str:
        return self.graph.node("Cast", [ATTENTION_MASK], to=onnx.TensorProto.FLOAT)


class _Int8Encoder(_Encoder):
    batch = 1
    input_names = (INPUT_IDS,)

    def words(self) -> str:
        # Half of the model is this table: as int8, one scale a word, it is a quarter of the size and hardly less exact.
        table = quantise_columns(self.weights[_WORDS].T, TABLE_PEAK)
        rows = self.graph.node("Gather", [self.graph.constant(f"{_WORDS}.int8", table.values.T), INPUT_IDS])
        scales = self.graph.constant(f"{_WORDS}.scale", table.scales[:, np.newaxis])
        row_scales = self.graph.node("Gather", [scales, INPUT_IDS])
        return self.graph.node("Mul", [self.graph.node("Cast", [rows], to=onnx.TensorProto.FLOAT), row_scales])

    def linear(self, value: str, name: str, norm: str | None = None) -> str:
        value, values, scales = self._quantised(value, name, self.weights[f"{name}.weight"].T, norm)
        inputs = [value, values, scales, "", self.vector(f"{name}.bias")]
        return self.graph.node("DynamicQuantizeMatMul", inputs, domain=MICROSOFT)

    def attention(self, hidden: str, norm: str, prefix: str) -> str:
        matrix, bias = self.query_key_value(prefix)
        hidden, values, scales = self._quantised(hidden, f"{prefix}.qkv", matrix, norm)
        hidden_values, hidden_scale, hidden_zero = self.graph.nodes("DynamicQuantizeLinear", [hidden], 3)
        inputs = [
            hidden_values,
            values,
            self.graph.constant(f"{prefix}.qkv.bias", bias),
            hidden_scale,
            scales,
            "",  # no mask: one text, no padding
            hidden_zero,
            self.graph.constant(f"{prefix}.qkv.zero", np.zeros(matrix.shape[1], np.int8)),
        ]
        return self.graph.node("QAttention", inputs, domain=MICROSOFT, num_heads=self.head_count)

    def token_weights(self) -> str:
        one = onnx.numpy_helper.from_array(np.ones(1, np.float32))
        return self.graph.node("ConstantOfShape", [self.graph.node("Shape", [INPUT_IDS])], value=one)

    def _quantised(self, value: str, name: str, matrix: NDArray[np.float32], norm: str | None) -> tuple[str, str, str]:
        """Return the value, smoothed if a layer norm gave it, and the quantised matrix that it is multiplied with."""
        if norm is not None:
            factors = smoothing_factors(matrix, self.weights[f"{norm}.weight"], self.weights[f"{norm}.bias"])
            matrix = matrix * factors[:, np.newaxis]
            value = self.graph.node("Mul", [value, self.graph.constant(f"{name}.smoothing", np.float32(1) / factors)])
        quantised = quantise_columns(matrix, MATRIX_PEAK)
        values = self.graph.constant(f"{name}.int8", quantised.values)
        return value, values, self.graph.constant(f"{name}.scale", quantised.scales)


def _layer_count(weights: Weights) -> int:
    numbers = [int(found[1]) for name in weights if (found := re.match(r"encoder\.layer\.(\d+)\.", name))]
    return 1 + max(numbers, default=-1)
