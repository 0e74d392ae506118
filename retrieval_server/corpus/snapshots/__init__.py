"""Copies of a collection as of one moment: made, tried, restored."""
