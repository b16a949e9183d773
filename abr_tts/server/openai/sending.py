"""
The body of one answer on its way to the client, as it is made.

Nothing is sent before there is sound, so that a speech that fails at once is an error with its status. An
answer that fails later ends without its end, which every HTTP client notices.
"""

from __future__ import annotations

from aiohttp import web

from ..doors.valve import Valve

CHUNK_BYTES = 4
"""Around a chunk, beside the digits of its length (RFC 9112 section 7.1)."""


class Lost(Exception):
    """The client is gone, or reads nothing."""


class Outflow:
    """
    Args:
        request: to be answered.
        headers: of the answer.
        valve: the client's socket.
        patience_s: seconds that a client may take nothing.
    """

    def __init__(
        self, request: web.Request, headers: dict[str, str], valve: Valve, patience_s: float
    ) -> None:
        self._request, self._valve, self._patience_s = request, valve, patience_s
        self.response = web.StreamResponse(headers=headers)
        self.begun = False
        """The answer has begun: its status cannot be changed any more."""

    async def write(self, data: bytes) -> int:
        """
        Send the next part when the kernel has room for it; what it takes on the socket.

        Raises:
            Lost: there is nobody to send it to.
        """
        try:
            ready = await self._valve.ready(self._patience_s)
        except TimeoutError:
            self._break(abort=True)
            raise Lost("it has read nothing") from None
        if not ready:
            raise Lost("it is gone")
        try:
            if not self.begun:
                self.begun = True
                await self.response.prepare(self._request)
            await self.response.write(data)
        except ConnectionError:
            raise Lost("it is gone") from None
        return len(data) + len(f"{len(data):x}") + CHUNK_BYTES

    async def end(self) -> None:
        """
        All was written.

        Raises:
            Lost: as `write`.
        """
        if self._valve.gone:
            raise Lost("it is gone")
        try:
            await self.response.write_eof()
        except ConnectionError:
            raise Lost("it is gone") from None

    def break_off(self) -> None:
        """What was sent arrives, and no end follows it."""
        self._break(abort=False)

    def _break(self, *, abort: bool) -> None:
        transport = self._request.transport
        if transport is not None:
            transport.abort() if abort else transport.close()
