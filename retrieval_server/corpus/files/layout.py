"""What lies in a collection's directory, and in a snapshot's."""

DATABASE = "corpus.sqlite"
LEXICAL = "lexical"
LEXICAL_STATE = "lexical.json"
DENSE = "dense"
COLUMNS = "chunks.columns"
