"""The BM25 list, and the synonyms that widen a query."""
