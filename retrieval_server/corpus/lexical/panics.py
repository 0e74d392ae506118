"""Panics of Tantivy, which it meets damaged files with: to Python they are no Exception, and nobody expects them."""

from collections.abc import Iterator
from contextlib import contextmanager

# Each extension module has a class of its own by that name, which cannot be imported.
_CLASS_NAME = "PanicException"


def is_panic(error: BaseException) -> bool:
    """Tell whether an error is a panic."""
    return type(error).__name__ == _CLASS_NAME


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a panic as the ValueError that Tantivy's other errors are."""
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise ValueError(f"the lexical index cannot be read: {error}") from error
