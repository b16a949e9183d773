"""
Whether anybody still listens, asked while the model computes and cannot ask itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

POLL_S = 0.02
"""How often it is asked: a fifth of the 0.1 s that CosyVoice itself sleeps between two looks at its
tokens."""


class Watch:
    """Asks `wanted` every `POLL_S` from a thread of its own, but only inside `computing`."""

    def __init__(self, wanted: Callable[[], bool], stop: Callable[[], None]) -> None:
        self._wanted = wanted
        self._stop = stop
        self._over = threading.Event()
        self._turn = threading.Lock()
        self._thread = threading.Thread(target=self._look, name="watch", daemon=True)
        self.unwanted = False

    def __enter__(self) -> Watch:
        self._turn.acquire()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._turn.release()
        self._thread.join()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """The caller hands nothing out meanwhile, so that `wanted` may be asked."""
        self._turn.release()
        try:
            yield
        finally:
            self._turn.acquire()

    def _look(self) -> None:
        while not self._over.wait(POLL_S):
            if not self._turn.acquire(blocking=False):
                continue
            try:
                if self.unwanted or not self._wanted():
                    self.unwanted = True
                    self._stop()  # again at each look: the generation may not have begun yet
            finally:
                self._turn.release()
