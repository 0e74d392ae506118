"""Labelled questions: what counts as found, and weights fitted to them."""
