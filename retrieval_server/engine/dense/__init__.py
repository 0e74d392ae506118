"""The dense list: vectors of windows in immutable segments, searched exactly or through a graph."""

from retrieval_server.engine.dense.graph import Graph, GraphCorrupt, GraphStopped, build_graph, open_graph
from retrieval_server.engine.dense.segment import VectorSegment
from retrieval_server.engine.dense.similarity import Similarity
from retrieval_server.engine.dense.view import DenseView

__all__ = [
    "DenseView",
    "Graph",
    "GraphCorrupt",
    "GraphStopped",
    "Similarity",
    "VectorSegment",
    "build_graph",
    "open_graph",
]
