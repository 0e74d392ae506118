"""Text to vectors: what of a chunk is embedded, and the encoders."""
