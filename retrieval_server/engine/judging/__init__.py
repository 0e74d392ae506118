"""Whether the passages answer the question: what they hold of it, as a probability."""
