"""What lies in a collection's directory, and in a snapshot's."""

DATABASE = "corpus.sqlite"
LEXICAL = "lexical"
# Tantivy's list of what its index consists of; without it there is no index.
LEXICAL_SEGMENTS = "meta.json"
LEXICAL_STATE = "lexical.json"
DENSE = "dense"
COLUMNS = "chunks.columns"
