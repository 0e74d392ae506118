"""One measured figure beside its bound."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """`samples` in `unit`; `value` is what is compared with `at_most` (no bound when None)."""

    name: str
    unit: str
    value: float
    at_most: float | None = None
    samples: tuple[float, ...] = ()
    note: str = ""

    @property
    def is_within(self) -> bool:
        """Whether the bound, if any, is kept."""
        return self.at_most is None or self.value <= self.at_most


def median_figure(
    name: str, unit: str, samples: Sequence[float], at_most: float | None = None, note: str = ""
) -> Figure:
    """The median of repeated measurements."""
    return Figure(name, unit, statistics.median(samples), at_most, tuple(samples), note)


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least `share` of all samples do not exceed."""
    return sorted(samples)[max(0, math.ceil(len(samples) * share) - 1)]
