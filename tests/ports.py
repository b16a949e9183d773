"""Ports for programs that must be told one, as nginx and the README's server are."""

import contextlib
import socket
import sys
from collections.abc import Iterator


def keep() -> socket.socket:
    """
    A socket bound to a port of 127.0.0.1 that nobody else then gets by chance; it does not listen.

    A server that is told the number still gets it, beside this socket: Linux lets sockets with SO_REUSEADDR
    share a port of which none listens yet, and servers set it. Elsewhere the port is only likely to be free.
    """
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind(("127.0.0.1", 0))
    return keeper


@contextlib.contextmanager
def kept_port() -> Iterator[int]:
    """A port of 127.0.0.1 on which nobody listens, and which is free for who asks for it by its number."""
    with keep() as keeper:
        port: int = keeper.getsockname()[1]
        if sys.platform != "linux":
            keeper.close()
        yield port
