"""Why a file cannot be a document."""


class UnusableFile(Exception):
    """A file has no text to store; `str()` is the reason, for people."""
