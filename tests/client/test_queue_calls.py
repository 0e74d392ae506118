"""The queue's calls: a server that repeats itself does not keep a caller for ever."""

from types import SimpleNamespace

import pytest

from client._queue_calls import QueueCalls
from client.errors import ServerFault
from groundwire.v1 import admin_service_pb2


class Calls(QueueCalls):
    _admin = SimpleNamespace(ListDeadLetters=None)

    def __init__(self) -> None:
        self._rpc = SimpleNamespace(unary=self.unary)

    async def unary(self, method, request):
        return admin_service_pb2.ListDeadLettersResponse(next_page_token="again")


async def test_a_list_of_dead_letters_without_an_end_is_the_servers_fault():
    with pytest.raises(ServerFault, match="no end"):
        assert [one async for one in Calls().dead_letters()] == []
