"""Searches: which run where, and what is remembered between them."""
