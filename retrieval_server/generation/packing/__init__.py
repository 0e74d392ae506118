"""What of the passages a model is given to read."""
