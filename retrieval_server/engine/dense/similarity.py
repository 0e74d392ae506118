"""What a score of the dense list is."""

from enum import Enum

import numpy as np
from numpy.typing import NDArray


class Similarity(Enum):
    """COSINE compares directions; DOT lets long vectors, such as those of long texts, score higher."""

    COSINE = "cosine"
    DOT = "dot"

    def prepared(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return vectors, (n, dimension) or (dimension,), whose dot products are this similarity; zeros stay zeros."""
        if self is Similarity.DOT:
            return vectors
        norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
        unit: NDArray[np.float32] = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
        return unit
