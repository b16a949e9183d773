"""
The gRPC server: its port, its certificate, and how a call becomes a session.

Everything behind it is the front door's own: the same sessions, admission, keys, quotas, metrics, and the
same way to drain.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from typing import Any
from urllib.parse import unquote

import grpc
from grpc import aio
from grpc_health.v1 import health, health_pb2
from grpc_reflection.v1alpha import reflection, reflection_pb2
from multidict import CIMultiDict

from ...errors import AbrError, BadField, ConfigError, ConnectionFault, ShuttingDown
from ..access.tls import Certificate
from ..config import Settings
from ..front import OVERSIZE_BYTES, Front
from . import codec, status
from .health import Health
from .line import LOST, CallLine
from .schema import POOL, SERVICE

log = logging.getLogger(__name__)

SPARE_CALLS = 256
"""Calls beyond `limits.connections`: those who watch the health or ask for the proto."""

GOODBYE_S = 0.2
"""Seconds that HTTP/2's own goodbyes may take once no session is left; cut at once they look like a fault."""

KEEPALIVE_TIMEOUT_MS = 20_000
"""Milliseconds without an answer to HTTP/2's ping after which a connection is cut (gRPC's own default)."""

IDENTITY = 1
"""Bit of the one compression algorithm that is taken: none. Sound does not shrink, and a small message must
not become a large one."""


class GrpcDoor:
    """
    Args:
        settings: of the server.
        front: the front door, whose sessions these are.
        certificate: of the server; None: without TLS.
    """

    def __init__(self, settings: Settings, front: Front, certificate: Certificate | None) -> None:
        self._settings, self._front, self._certificate = settings, front, certificate
        self._health = Health(lambda: front.ready)
        self._task: asyncio.Task[None] | None = None
        self.port = 0
        """Where it listens, once it does."""
        most = settings.limits.connections + SPARE_CALLS
        self._server: Any = aio.server(options=_options(settings), maximum_concurrent_rpcs=most)
        method = grpc.stream_stream_rpc_method_handler(self._speak)
        handlers = grpc.method_handlers_generic_handler(SERVICE, {"Speak": method})
        self._server.add_generic_rpc_handlers((handlers,))
        self._health.add_to(self._server)
        if settings.grpc.reflection:
            self._reflect()

    def _reflect(self) -> None:
        names = [SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME]
        for other in (health_pb2, reflection_pb2):
            POOL.AddSerializedFile(other.DESCRIPTOR.serialized_pb)
        reflection.enable_server_reflection(names, self._server, POOL)

    async def start(self) -> None:
        """
        Listen.

        Raises:
            ConfigError: the port is in use, or the address is not of this machine.
        """
        host, port = self._settings.server.host, self._settings.grpc.port
        place = f"[{host}]:{port}" if ":" in host else f"{host or '[::]'}:{port}"
        try:
            if self._certificate:
                self.port = self._server.add_secure_port(place, _credentials(self._certificate))
            else:
                self.port = self._server.add_insecure_port(place)
        except RuntimeError:
            raise ConfigError(
                f"grpc.port: cannot listen on {place}; it is in use, or no address of here"
            ) from None
        await self._server.start()
        self._task = asyncio.ensure_future(self._health.run())
        log.info("gRPC listens on port %d%s", self.port, ", with TLS" if self._certificate else "")

    async def stop(self) -> None:
        """Take no more calls, and cut those that are left; sessions must have been told before."""
        if self._task:
            self._task.cancel()
        await self._server.stop(GOODBYE_S)

    async def _speak(self, _: Any, context: Any) -> None:
        """One call: who may not come in is told by its status, everybody else gets a session."""
        given = context.invocation_metadata()
        headers = CIMultiDict((key, value) for key, value in given if isinstance(value, str))
        name = secrets.token_hex(8)
        try:
            if self._front.draining:
                raise ShuttingDown("the server is stopping", retry_after=1.0)
            caller = self._front.enter(headers, headers.get("Ticket"), _address(context.peer()), name)
        except AbrError as error:
            await status.end(context, error.message, error.close, error)
            return
        connection = self._front.connection(name, codec)
        line = CallLine(context, self._settings.limits.close_timeout_s)
        close = LOST
        try:
            fault = await self._front.serve(line, connection, caller)
            close, reason = line.outbox.farewell or (LOST, "")
            if line.close_code is None:
                await status.end(context, reason, close, _of(fault, close, reason))
        finally:
            # Only now: of a client that reads nothing the status waits as well.
            self._front.leave(caller, connection.close_code or line.close_code or LOST)


def _of(fault: AbrError | None, close: int, reason: str) -> AbrError | None:
    """What the connection was closed for, which need not be the last that the peer was told of."""
    if fault and (fault.close == close or (isinstance(fault, BadField) and close == ConnectionFault.close)):
        return fault
    return ShuttingDown(reason, retry_after=1.0) if close == ShuttingDown.close else None


def _options(settings: Settings) -> list[tuple[str, int]]:
    """What gRPC is to be held to."""
    limits = settings.limits
    return [
        ("grpc.so_reuseport", 0),  # a port that another program has is refused, not shared
        ("grpc.max_receive_message_length", limits.message_bytes + OVERSIZE_BYTES),
        ("grpc.compression_enabled_algorithms_bitset", IDENTITY),
        ("grpc.max_concurrent_streams", settings.grpc.calls_per_connection),
        # With it calls that have ended count until their memory is free: of those that waited for their
        # turn at the client a third were refused (REFUSED_STREAM) as soon as it came (measured, grpcio 1.85).
        ("grpc.http.overload_protection", 0),
        ("grpc.max_connection_idle_ms", round(limits.idle_timeout_s * 1000)),
        ("grpc.server_handshake_timeout_ms", round(limits.hello_timeout_s * 1000)),
        ("grpc.keepalive_time_ms", round(limits.idle_timeout_s * 1000)),
        ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
    ]


def _credentials(certificate: Certificate) -> Any:
    """Those of the server's certificate, the newest one at each handshake."""
    given = certificate.pem

    def newer() -> Any:
        nonlocal given
        if certificate.pem is given:
            return None
        given = certificate.pem
        return grpc.ssl_server_certificate_configuration([given])

    return grpc.dynamic_ssl_server_credentials(grpc.ssl_server_certificate_configuration([given]), newer)


def _address(peer: str) -> str:
    """The address in a peer's name, such as `ipv4:127.0.0.1:50000` or `ipv6:%5B::1%5D:50000`."""
    _, _, place = unquote(peer).partition(":")
    return place.rpartition(":")[0].strip("[]")
