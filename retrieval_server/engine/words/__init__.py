"""Text to terms, and what kinds of words there are: of grammar, of questions, names that are defined."""
