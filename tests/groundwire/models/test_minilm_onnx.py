"""The exported graphs compute what the published architecture computes, the same bytes each time."""

from math import erf

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray

from groundwire.models.minilm_names import ATTENTION_MASK, EMBEDDING, INPUT_IDS
from groundwire.models.minilm_onnx import fp32_graph, int8_graph
from tests.groundwire.models.tiny_encoder import HEAD_COUNT, HIDDEN, tiny_weights

IDS = [3, 14, 15, 9, 26, 5, 35]


def _by_hand(weights: dict[str, NDArray[np.float32]], ids: list[int]) -> NDArray[np.float64]:
    """BERT's forward pass (arXiv:1810.04805), mean of the last layer, unit length, in float64."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}

    def norm(x, prefix):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * w[f"{prefix}.weight"] + w[f"{prefix}.bias"]

    def dense(x, prefix):
        return x @ w[f"{prefix}.weight"].T + w[f"{prefix}.bias"]

    def heads(x):
        return x.reshape(len(ids), HEAD_COUNT, -1).transpose(1, 0, 2)

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(2):
        prefix = f"encoder.layer.{layer}"
        q, k, v = (heads(dense(x, f"{prefix}.attention.self.{part}")) for part in ("query", "key", "value"))
        scores = np.exp(q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]))
        attended = (scores / scores.sum(-1, keepdims=True)) @ v
        attended = dense(attended.transpose(1, 0, 2).reshape(len(ids), -1), f"{prefix}.attention.output.dense")
        x = norm(x + attended, f"{prefix}.attention.output.LayerNorm")
        inner = dense(x, f"{prefix}.intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(erf)(inner / np.sqrt(2)))
        x = norm(x + dense(inner, f"{prefix}.output.dense"), f"{prefix}.output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def _run(model: bytes, **inputs: NDArray[np.int64]) -> NDArray[np.float32]:
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run([EMBEDDING], inputs)[0]


def _fp32(weights: dict[str, NDArray[np.float32]], ids: list[list[int]], mask: list[list[int]]) -> NDArray[np.float32]:
    inputs = {INPUT_IDS: np.array(ids, np.int64), ATTENTION_MASK: np.array(mask, np.int64)}
    return _run(fp32_graph(weights, HEAD_COUNT), **inputs)


def test_fp32_graph_computes_the_published_architecture():
    weights = tiny_weights()
    vector = _fp32(weights, [IDS], [[1] * len(IDS)])
    assert vector.shape == (1, HIDDEN)
    np.testing.assert_allclose(vector[0], _by_hand(weights, IDS), atol=2e-6)


def test_fp32_vector_does_not_depend_on_batch_and_padding():
    weights = tiny_weights()
    padded, padded_mask = [*IDS, 0, 0, 0], [1] * len(IDS) + [0, 0, 0]
    vectors = _fp32(weights, [padded, [8] * 10, padded], [padded_mask, [1] * 10, padded_mask])
    np.testing.assert_allclose(vectors[0], _by_hand(weights, IDS), atol=2e-6)
    np.testing.assert_allclose(vectors[2], vectors[0], atol=1e-7)


def test_int8_graph_is_close_to_the_float_one_and_of_unit_length():
    weights = tiny_weights()
    vector = _run(int8_graph(weights, HEAD_COUNT), **{INPUT_IDS: np.array([IDS], np.int64)})[0]
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)
    assert float(vector @ _by_hand(weights, IDS)) > 0.99


def test_int8_graph_refuses_a_batch():
    """In a batch a text's vector would depend on its neighbours' activations."""
    session = ort.InferenceSession(int8_graph(tiny_weights(), HEAD_COUNT), providers=["CPUExecutionProvider"])
    assert [given.shape for given in session.get_inputs()] == [[1, "sequence"]]
    with pytest.raises(Exception, match="invalid dimensions"):
        session.run(None, {INPUT_IDS: np.array([IDS, IDS], np.int64)})


@pytest.mark.parametrize("build", [fp32_graph, int8_graph])
def test_equal_weights_give_equal_bytes_in_any_order(build):
    weights = tiny_weights()
    backwards = dict(reversed(weights.items()))
    assert build(weights, HEAD_COUNT) == build(backwards, HEAD_COUNT)
    assert build(weights, HEAD_COUNT) != build(tiny_weights(seed=8), HEAD_COUNT)


@pytest.mark.parametrize("build", [fp32_graph, int8_graph])
def test_graph_passes_the_checker(build):
    onnx.checker.check_model(onnx.load_from_string(build(tiny_weights(), HEAD_COUNT)))
