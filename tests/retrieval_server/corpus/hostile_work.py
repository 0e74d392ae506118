"""Work that ends the process it runs in, in several ways."""

import os
import signal


def do(item: str) -> str:
    match item:
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "spin":
            while True:
                pass
        case "grow":
            return str(len(bytearray(2 * 1024**3)))
    return item.upper()


def give_up(item: str) -> str:
    return f"{item} was given up"
