"""Running groundwire on one machine: set-up, supervision and the demonstration."""
