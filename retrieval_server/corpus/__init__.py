"""Documents: decoding, chunking into rows, durable storage, and the indexes that follow it."""
