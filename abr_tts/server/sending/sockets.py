"""
The kernel's side of a connection: options of the listener, and what its queue says.

Linux is meant; elsewhere what does not exist is left out, and speech still flows, only with
more of it under way. Nothing here knows of WebSockets or of speech.
"""

from __future__ import annotations

import asyncio.trsock
import errno
import socket
import struct
import sys
from contextlib import suppress

from ...errors import ConfigError
from ...stream.pacer import KernelSample

NOTSENT_LOWAT_BYTES = 4096
"""
The kernel is given no more while this much of a socket's data waits to be sent; what has not
reached it can still be taken back. As TCP_NOTSENT_LOWAT (tcp(7)) it makes the kernel call a writer
back once half of it is left. Two or three segments keep a fast link busy between two wake-ups of
the loop.
"""

_TCP_NOTSENT_LOWAT = 25
"""linux/tcp.h; Python names it from 3.12 on."""

_TCP_RTO_MAX_MS = 44
"""linux/tcp.h since Linux 6.15; older kernels answer ENOPROTOOPT."""

RTO_MAX_MS = 1000
"""
Longest wait between two retransmissions. The kernel's own 120 s doubles its way up during a
radio outage and then sleeps on after it: with 1 s speech returned within 1.3 s of a 10 s
outage, without it took 8 s (measured over TUN).
"""

_SIOCOUTQ = 0x5411
"""linux/sockios.h: bytes in the send queue that the peer's kernel has not acknowledged."""

_SIOCOUTQNSD = 0x894B
"""linux/sockios.h: those of them that have not even been sent."""

_MIN_RTT_AT = 148
"""Offset of tcpi_min_rtt (u32, microseconds) in struct tcp_info, linux/tcp.h since Linux 4.6."""

_UNKNOWN_RTT_US = 0xFFFF_FFFF
"""What the kernel says before the first measurement."""


def listen(host: str, port: int, backlog: int, dead_peer_s: float) -> list[socket.socket]:
    """
    Listening sockets for every address of `host`, with the options that accepted ones inherit.

    Args:
        port: 0 takes a free one, the same for every address.
        backlog: connections that the kernel holds until they are accepted.
        dead_peer_s: seconds without any acknowledgement after which the kernel gives a peer up.

    Raises:
        ConfigError: the port is in use, or the address is not one of this machine.
    """
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in dict.fromkeys(found):
            one = socket.socket(family, socket.SOCK_STREAM)
            sockets.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            _tune(one, dead_peer_s)
            one.bind((address[0], port, *address[2:]))
            port = one.getsockname()[1]
            one.listen(backlog)
            one.setblocking(False)
    except OSError as error:
        for one in sockets:
            one.close()
        raise ConfigError(_why_not(host, port, error)) from None
    return sockets


def _tune(one: socket.socket, dead_peer_s: float) -> None:
    """
    Small queues and quick recovery; set on the listener, because accepted sockets inherit it.

    TCP_USER_TIMEOUT belongs to TCP_RTO_MAX_MS: with that alone the kernel counts its fifteen
    retries by the second and drops a peer after 15 s of silence, where 15 minutes are usual.
    """
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not sys.platform.startswith("linux"):
        return
    one.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, NOTSENT_LOWAT_BYTES)
    with suppress(OSError):
        one.setsockopt(socket.IPPROTO_TCP, _TCP_RTO_MAX_MS, RTO_MAX_MS)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(dead_peer_s * 1000))


def _why_not(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host} is in use by another program; choose another with --port"
    if error.errno == errno.EACCES:
        return f"port {port} needs more rights than this user has; ports from 1024 on do not"
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return f"{host!r} is not an address of this machine; 127.0.0.1 and 0.0.0.0 always are"
    return f"cannot listen on {host}:{port}: {error.strerror or error}"


def sample(sock: asyncio.trsock.TransportSocket, user_bytes: int) -> KernelSample:
    """
    What is under way on a connected TCP socket; what cannot be known is left out.

    Args:
        user_bytes: what this process holds back behind the socket.
    """
    if not sys.platform.startswith("linux"):
        return KernelSample(0, user_bytes)
    try:
        unacked = _ask(sock, _SIOCOUTQ)
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _MIN_RTT_AT + 4)
    except OSError:
        return KernelSample(0, user_bytes)  # closed meanwhile
    if len(info) < _MIN_RTT_AT + 4:
        return KernelSample(unacked, user_bytes)
    (micros,) = struct.unpack_from("I", info, _MIN_RTT_AT)
    return KernelSample(unacked, user_bytes, -1.0 if micros == _UNKNOWN_RTT_US else micros / 1000)


def unsent_bytes(sock: asyncio.trsock.TransportSocket) -> int:
    """What the kernel has of a TCP socket and has not sent once; 0 where it cannot be known."""
    if not sys.platform.startswith("linux"):
        return 0
    try:
        return _ask(sock, _SIOCOUTQNSD)
    except OSError:
        return 0  # closed meanwhile


def _ask(sock: asyncio.trsock.TransportSocket, request: int) -> int:
    import fcntl  # Unix alone has it

    (size,) = struct.unpack("i", fcntl.ioctl(sock.fileno(), request, bytes(4)))
    return int(size)
