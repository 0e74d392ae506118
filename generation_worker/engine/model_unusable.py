"""The error for a model file, apart from llama.cpp, so that it can be named where that is not installed."""


class ModelUnusableError(Exception):
    """A model file that cannot be used; the message is one line."""
