"""A coarse look at all vectors in int8: a quarter of the bytes of float32, and the bytes are what a scan waits for.

It also leaves the encoder's weights in the cache, where the next query wants them.
"""

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

_OPSET = 17
_IR_VERSION = 8
_INT8_MAX = 127
_ZERO_POINT = 128


class Int8Scan:
    """Scores by integer dot products. Thread-safe.

    `vectors` is (n_windows, dimension) float32, L2-normalised. All values share one scale, so scores are comparable;
    a cosine is off by about 0.003, and what is found must be scored again in float32.
    """

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self._scale = _INT8_MAX / float(np.abs(vectors).max())
        rows = np.round(vectors * self._scale).astype(np.int8)
        # The query is sent as uint8 around a zero point; its part in each product is taken off again.
        self._zero_point_products = rows.sum(axis=1, dtype=np.int32) * _ZERO_POINT
        self._session = _product_session(rows)

    def nearest(self, query_vector: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        """Return the indexes of the `count` windows that look nearest, in no order."""
        query = np.clip(np.round(query_vector * self._scale), -_INT8_MAX, _INT8_MAX) + _ZERO_POINT
        (products,) = self._session.run(None, {"query": query.astype(np.uint8)[np.newaxis]})
        scores = products[0] - self._zero_point_products
        return np.argpartition(scores, len(scores) - count)[len(scores) - count :]


def _product_session(rows: NDArray[np.int8]) -> onnxruntime.InferenceSession:
    count, dimension = rows.shape
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["query", "rows"], ["products"])],
        "int8_scan",
        [helper.make_tensor_value_info("query", TensorProto.UINT8, [1, dimension])],
        [helper.make_tensor_value_info("products", TensorProto.INT32, [1, count])],
        [numpy_helper.from_array(np.ascontiguousarray(rows.T), "rows")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
