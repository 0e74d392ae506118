"""`retrieval-server`: reads the settings and serves.

Kept light: the processes that parse files in bulk import this module again.
"""

import os
import sys

_EXIT_CANNOT_START = 2


def main() -> None:
    """Run the server; what keeps it from starting is one line on standard error and exit code 2."""
    import argparse

    from groundwire.standard_streams import open_missing_streams

    open_missing_streams()
    parser = argparse.ArgumentParser(
        "retrieval-server", description="Serve groundwire. All settings are GROUNDWIRE_… environment variables."
    )
    parser.add_argument("--follow", metavar="DIR", help="serve the newest snapshots in DIR, and take no writes")
    following = parser.parse_args().follow

    # gRPC's core would write lines of its own, beside our one line and within our JSON. An operator's wish goes first.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # numpy's products here are small, and its threads would spin beside those that search and encode.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    from retrieval_server.heap import bound_arenas

    bound_arenas()

    import uvloop
    from pydantic import ValidationError

    from groundwire.logs import configure_logs
    from groundwire.models.locate import ModelCorrupt, ModelMissing
    from groundwire.queue.connection import RedisUrlError
    from retrieval_server.listen_address import UnsafeAddress
    from retrieval_server.serving import CannotStart, serve
    from retrieval_server.settings import ServerSettings, problems_of

    try:
        settings = ServerSettings(**({"follow_dir": following} if following else {}))
        configure_logs("retrieval-server", settings.log_level)
        # With asyncio's own loop a lone search took half a millisecond of 5 longer, and 16 callers got a tenth less.
        uvloop.run(serve(settings))
    except ValidationError as error:
        _exit(problems_of(error))
    except (CannotStart, UnsafeAddress, ModelMissing, ModelCorrupt, RedisUrlError) as error:
        _exit(str(error))


def _exit(problem: str) -> None:
    from groundwire.standard_streams import BestEffortStream

    BestEffortStream().write(f"retrieval-server: {problem}\n")
    sys.exit(_EXIT_CANNOT_START)


if __name__ == "__main__":
    main()
