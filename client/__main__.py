"""The command line: `client …`, or `python -m client …`."""

import os
import sys

from groundwire.standard_streams import open_missing_streams


def main() -> None:
    """Run the command line and exit."""
    open_missing_streams()
    # gRPC's own log would stand between the user and the one line that says what is wrong.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        from client.cli.group import cli

        cli.main(prog_name="client")
    except KeyboardInterrupt:  # a second Ctrl-C, or one that came before the command line was ready
        sys.exit(130)


if __name__ == "__main__":
    main()
