"""How a model chooses its words."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sampling:
    """As asked for, and checked; what is None is left to the generator: the likeliest word each time, seed 0."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stops: tuple[str, ...] = ()
