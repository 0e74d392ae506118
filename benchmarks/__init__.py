"""Measures every figure that the project promises: `make bench`."""
