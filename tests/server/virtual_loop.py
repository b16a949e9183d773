"""
Time for tests of what runs on an event loop: a clock that leaps to the next timer when nothing else is left.
"""

import asyncio
import contextlib
import selectors


class _Leaping(selectors.SelectSelector):
    """Waits for nothing: its loop's clock leaps to where the wait would end."""

    now = 0.0

    def select(self, timeout=None):
        ready = super().select(0)
        if not ready and timeout:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose clock goes only when nothing is left to do."""

    def __init__(self):
        self._leaping = _Leaping()
        super().__init__(self._leaping)
        self.faults = []
        """What callbacks raised."""
        self.set_exception_handler(lambda loop, context: self.faults.append(context))

    def time(self):
        return self._leaping.now

    def run_for(self, seconds):
        """All that is due within."""
        self.call_later(seconds, self.stop)
        self.run_forever()

    def do(self, call, *args):
        """Call inside the loop, and all that comes of it at once; its result."""
        results = []
        self.call_soon(lambda: results.append(call(*args)))
        self.run_for(0.001)
        assert self.faults == [], self.faults
        return results[0]

    @property
    def timers(self):
        """What is still to be called."""
        return [timer for timer in self._scheduled if not timer.cancelled()]


@contextlib.contextmanager
def virtual():
    """A loop, closed afterwards."""
    loop = VirtualLoop()
    try:
        yield loop
    finally:
        loop.close()
