"""
One WebSocket without a network, for tests in virtual time: a kernel that takes so many bytes until its client
reads, and what a session sees of the socket.
"""

import asyncio
from collections import deque

from aiohttp import WSMessage, WSMsgType

KERNEL_BYTES = 16_384
"""What the kernel takes of a connection before its client reads."""


class Kernel(asyncio.Transport):
    """A connection's transport: it takes what fits, the rest waits, until the client reads."""

    def __init__(self):
        super().__init__()
        self._protocol = asyncio.Protocol()
        self.taken, self._held, self._buffer = deque(), 0, deque()
        self._closing = False

    def get_protocol(self):
        return self._protocol

    def set_protocol(self, protocol):
        self._protocol = protocol

    def set_write_buffer_limits(self, high=None, low=None):
        pass

    def get_write_buffer_size(self):
        return sum(map(len, self._buffer))

    def is_closing(self):
        return self._closing

    def get_extra_info(self, name, default=None):
        return default

    def write(self, data):
        if self._closing:
            return
        if self._buffer or self._held + len(data) > KERNEL_BYTES:
            self._buffer.append(data)
            if len(self._buffer) == 1:
                self._protocol.pause_writing()
        else:
            self._take(data)

    def _take(self, data):
        self._held += len(data)
        self.taken.append(data)

    def read(self, most):
        """The client's next messages."""
        found = [self.taken.popleft() for _ in range(min(most, len(self.taken)))]
        self._held -= sum(map(len, found))
        if self._buffer:
            while self._buffer and self._held + len(self._buffer[0]) <= KERNEL_BYTES:
                self._take(self._buffer.popleft())
            if not self._buffer:
                self._protocol.resume_writing()
        return list(map(payload, found))

    def abort(self):
        if not self._closing:
            self._closing = True
            self._buffer.clear()
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)


def payload(data):
    """Of a server's frame."""
    assert data[0] == 0x82, "a whole binary message"
    return data[{126: 4, 127: 10}.get(data[1], 2) :]


class Socket:
    """A WebSocket as a session sees it."""

    def __init__(self, kernel):
        self._kernel, self._messages = kernel, asyncio.Queue()
        self.closed, self.close_code = False, None

    async def receive(self):
        return await self._messages.get()

    def came(self, data):
        kind = WSMsgType.TEXT if isinstance(data, str) else WSMsgType.BINARY
        self._messages.put_nowait(WSMessage(kind, data, None))

    def end(self, code):
        """The client has closed (1000), or is gone (1006)."""
        self.close_code = code
        self._messages.put_nowait(WSMessage(WSMsgType.CLOSED, None, None))
        if code == 1006:
            self._kernel.abort()

    async def close(self, *, code, message):
        self.closed, self.close_code = True, self.close_code or code
        self._messages.put_nowait(WSMessage(WSMsgType.CLOSED, None, None))
        self._kernel.abort()
