"""Bytes to documents with their chunks: decoding, extraction, records, metadata."""
