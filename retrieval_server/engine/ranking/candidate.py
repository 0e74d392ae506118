"""A chunk that may be returned."""

from typing import NamedTuple

from retrieval_server.engine.places.chunk_table import Place
from retrieval_server.model import Prior


class Candidate(NamedTuple):
    """A chunk with its fused score after all factors, and these factors."""

    chunk_id: int
    place: Place
    score: float
    priors: tuple[Prior, ...]
