"""`corpus.sqlite`, the source of truth: its tables, writing them in transactions, reading them as of one generation."""
