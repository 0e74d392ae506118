"""Callers that leave while their response is sent are no faults of the server."""

from typing import Any

import grpc
import pytest

from retrieval_server.api.departed_callers import ignore_departed_callers


@pytest.mark.parametrize(
    ("error", "is_logged"),
    [(grpc.aio.InternalError("a write that failed"), False), (ValueError("a fault of ours"), True)],
)
async def test_a_write_that_failed_as_its_caller_left_is_not_logged(
    error: Exception, is_logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_request: bytes, _context: grpc.aio.ServicerContext[Any, Any]) -> bytes:
        raise error

    ignore_departed_callers()
    # Without our interceptor: what is asked is what gRPC itself says of an error that reaches it.
    server = grpc.aio.server()
    handlers = {"Call": grpc.unary_unary_rpc_method_handler(fail)}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("test.Failing", handlers)])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            with pytest.raises(grpc.aio.AioRpcError):
                await channel.unary_unary("/test.Failing/Call")(b"")
    finally:
        await server.stop(None)
    assert any("raised" in record.message for record in caplog.records) is is_logged
