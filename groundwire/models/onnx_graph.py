"""Collects the nodes and constants of an ONNX graph, and serialises them to the same bytes every time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

MICROSOFT = "com.microsoft"  # the fused operators of onnxruntime's CPU provider

# The oldest versions that hold every operator used here, so that the widest range of onnxruntime releases loads it.
_IR_VERSION = 9
_OPSET_VERSION = 17


class GraphBuilder:
    """Appends nodes in execution order; names are counted, so equal calls give equal graphs."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Add a constant and return its name; the same name twice is the same constant."""
        self._constants.setdefault(name, onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, operator: str, inputs: Sequence[str], *, domain: str = "", **attributes: Any) -> str:
        """Add a node of one output and return the output's name; an empty input is one that is left out."""
        return self.nodes(operator, inputs, 1, domain=domain, **attributes)[0]

    def nodes(
        self, operator: str, inputs: Sequence[str], output_count: int, *, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Add a node of several outputs and return their names."""
        name = f"{operator}_{len(self._nodes)}"
        outputs = [f"{name}_out{index}" for index in range(output_count)]
        self._nodes.append(onnx.helper.make_node(operator, inputs, outputs, name=name, domain=domain, **attributes))
        return outputs

    def serialise(
        self,
        name: str,
        inputs: Sequence[onnx.ValueInfoProto],
        output: str,
        output_name: str,
        output_shape: Sequence[int | str],
    ) -> bytes:
        """Return the model's bytes, with the float32 tensor `output` given out as `output_name`."""
        self._nodes.append(onnx.helper.make_node("Identity", [output], [output_name], name=output_name))
        graph = onnx.helper.make_graph(
            self._nodes,
            name,
            list(inputs),
            [onnx.helper.make_tensor_value_info(output_name, onnx.TensorProto.FLOAT, output_shape)],
            list(self._constants.values()),
        )
        model = onnx.helper.make_model(
            graph,
            ir_version=_IR_VERSION,
            opset_imports=[onnx.helper.make_opsetid("", _OPSET_VERSION), onnx.helper.make_opsetid(MICROSOFT, 1)],
            producer_name="groundwire",
        )
        content: bytes = model.SerializeToString(deterministic=True)
        return content
