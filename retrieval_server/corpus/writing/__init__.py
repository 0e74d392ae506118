"""Changing documents: syncing sources, putting and removing single documents, parsing all of them anew."""
