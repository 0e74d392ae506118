"""The nouns of answering."""
