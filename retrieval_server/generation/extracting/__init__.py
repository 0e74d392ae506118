"""Answers that no model writes."""
