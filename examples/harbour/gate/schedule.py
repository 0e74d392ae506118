"""When the tide gate of Larkholm is open."""

from dataclasses import dataclass
from datetime import datetime, timedelta

SILL_DEPTH_M = 1.9
CLEARANCE_M = 0.4
WARNING_BEFORE_CLOSING = timedelta(minutes=2)


@dataclass(frozen=True)
class TideReading:
    """The gauge at the gate: height of the water above chart datum."""

    time: datetime
    height_m: float


def depth_over_sill_m(reading: TideReading) -> float:
    """Water over the sill of the gate; the sill dries below chart datum."""
    return max(0.0, reading.height_m + SILL_DEPTH_M)


def may_open(reading: TideReading, draught_m: float) -> bool:
    """A boat passes when the water over the sill exceeds its draught by the clearance."""
    return depth_over_sill_m(reading) >= draught_m + CLEARANCE_M


def closing_warning(closes_at: datetime) -> datetime:
    """The moment of the long blast: two minutes before the gate begins to close."""
    return closes_at - WARNING_BEFORE_CLOSING
