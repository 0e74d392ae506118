"""What bounds the encoder: its int8 products against those that a core does at most. `python -m benchmarks.encoding`.

Of 2 cores (AVX-512 VNNI) each multiplies int8 matrices with up to 450 GOPS in onnxruntime. MiniLM takes 21 million
operations a word piece, so vLLM's 1.3 million pieces take 63 s of a core at that rate; in fact they take 110 s on a
quiet machine and 130 s beside other work. By onnxruntime's profile of 60 pieces: products 71 %, attention 13 %, GELU
6 %, layer norms 4 %, the rest additions and copies. Of 250 pieces attention takes 31 %.

Tried, by the CPU time of the same windows in turns, against what is in use (1.00); nothing paid more than 8 %:

| what | time | note |
|---|---|---|
| projections as one product, then MultiHeadAttention | 1.01 | 250 pieces: 0.97 |
| FastGelu, QuickGelu | 0.98 to 1.00 | less exact |
| MatMulNBits of 8 or 4 bits, blocks of 32 to 128 | over 2 | its product reaches 120 to 200 GOPS |
| fixed ranges in place of each text's own | 1.00 to 1.03 | |
| … and equally long texts in one run of 256 pieces | 0.92 to 1.00 | to the bit as alone; 0.87 beside other work |
| … and the inner layer's outliers multiplied apart | 0.94 to 1.02 | cosine 0.995, not 0.992; a query takes 8 % longer |
| smoothing within QuantizeLinear, a scale a channel | 1.8 | that kernel is slow |
| OpenVINO 2026.4, int8 weights, dynamic quantisation | 1.34 | |
"""

import time
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime as ort

from benchmarks.figure import Figure
from benchmarks.stage import Stage
from groundwire.models.locate import encoder_files
from groundwire.models.minilm_names import INPUT_IDS

PIECE_COUNTS = (20, 60, 128, 250)
_HIDDEN, _INNER, _LAYER_COUNT = 384, 1536, 6
# Four projections and the two matrices of the inner layer, each weight one multiplication and one addition.
_OPERATIONS_PER_PIECE = 2 * _LAYER_COUNT * (4 * _HIDDEN * _HIDDEN + 2 * _HIDDEN * _INNER)
_BUDGET_S = 1.0


def measure(_: Stage | None = None) -> list[Figure]:
    """Return operations per second of one core, in CPU time: of a product alone, and of the encoder by length."""
    peak = _gops(_product_run(250), 2 * 250 * _HIDDEN * _INNER)
    figures = [Figure("int8 product alone", "GOPS", peak, note=f"250 x {_HIDDEN} by {_HIDDEN} x {_INNER}, one core")]
    for count in PIECE_COUNTS:
        reached = _gops(_encoder_run(count), count * _OPERATIONS_PER_PIECE)
        pieces_per_s = reached * 1e9 / _OPERATIONS_PER_PIECE
        note = f"{reached / peak:.0%} of that, {pieces_per_s:,.0f} pieces/s"
        figures.append(Figure(f"encoder, {count} pieces", "GOPS", reached, note=note))
    return figures


def _gops(run: Callable[[], object], operation_count: int) -> float:
    run()
    samples_s: list[float] = []
    while sum(samples_s) < _BUDGET_S:
        started_s = time.thread_time()
        run()
        samples_s.append(time.thread_time() - started_s)
    # The fastest: other work on the machine only ever slows one down.
    return operation_count / min(samples_s) / 1e9


def _product_run(row_count: int) -> Callable[[], object]:
    random = np.random.default_rng(0)
    matrix = onnx.numpy_helper.from_array(random.integers(-64, 64, (_HIDDEN, _INNER)).astype(np.int8), "matrix")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMulInteger", ["rows", "matrix"], ["product"])],
        "product",
        [onnx.helper.make_tensor_value_info("rows", onnx.TensorProto.UINT8, [row_count, _HIDDEN])],
        [onnx.helper.make_tensor_value_info("product", onnx.TensorProto.INT32, [row_count, _INNER])],
        [matrix],
    )
    model = onnx.helper.make_model(graph, ir_version=9, opset_imports=[onnx.helper.make_opsetid("", 17)])
    session = _session(model.SerializeToString())
    rows = random.integers(0, 256, (row_count, _HIDDEN)).astype(np.uint8)
    return lambda: session.run(None, {"rows": rows})


def _encoder_run(piece_count: int) -> Callable[[], object]:
    session = _session(encoder_files(None).model.read_bytes())
    ids = np.random.default_rng(0).integers(1000, 20_000, (1, piece_count)).astype(np.int64)
    return lambda: session.run(None, {INPUT_IDS: ids})


def _session(model: bytes) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_mem_pattern = False
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    for figure in measure():
        print(f"{figure.name:24} {figure.value:7.0f} {figure.unit}  {figure.note}")
