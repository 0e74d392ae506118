"""Moves the tide gate and sets its lamps. The lamps change before the gate does, never after."""

from enum import Enum

MAX_MOTOR_CURRENT_A = 42.0
STORM_CLOSURE_FORCE = 10
REOPEN_BELOW_FORCE = 7


class Lamps(Enum):
    """What the north pier shows, from top to bottom."""

    CLOSED = ("red", "red", "red")
    MOVING = ("red", "red", "green")
    OPEN = ("green", "green", "green")


class GateJammedError(Exception):
    """The motor drew more current than a free gate ever needs; the harbour master is to be woken."""


class GateController:
    """One gate, one motor. It refuses to open in a storm."""

    def __init__(self) -> None:
        self.lamps = Lamps.CLOSED
        self.wind_force = 0

    def request_open(self) -> bool:
        """Open unless a storm closure is in force; says whether the gate moves."""
        if self.wind_force >= STORM_CLOSURE_FORCE:
            return False
        self.lamps = Lamps.MOVING
        return True

    def check_motor(self, current_a: float) -> None:
        """Stop at once when the gate is jammed."""
        if current_a > MAX_MOTOR_CURRENT_A:
            self.lamps = Lamps.CLOSED
            raise GateJammedError(f"{current_a:.1f} A")

    def end_of_travel(self) -> None:
        """The limit switch says that the gate stands open."""
        self.lamps = Lamps.OPEN
