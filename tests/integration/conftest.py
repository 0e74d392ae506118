"""What several tests over the wire start for themselves."""

from collections.abc import Iterator

import pytest

from tests.support.valkey import Valkey


@pytest.fixture(scope="module")
def a_valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    """A Valkey that only the tests of one module use: a queue that others fill would change what they see."""
    started = Valkey(tmp_path_factory.mktemp("valkey")).start()
    yield started
    started.stop()
