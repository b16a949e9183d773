"""
One generation of a model that knows no cancel: run it, watch whether anybody listens, stop it whole.

CosyVoice computes speech tokens in a thread of its own and keeps what belongs to a generation under
its uuid in several dicts. A generator that is closed half-way leaves them behind, and the thread
runs on. Without its entries the thread ends at its next token, by a KeyError of that uuid, and so
does whoever waits for it; the model stays usable.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Optional

POLL_S = 0.02
"""How often it is asked whether anybody still listens while the model computes: a fifth of the 0.1 s
that CosyVoice itself sleeps between two looks at its tokens."""

JOIN_S = 0.05
"""How long to wait for the thread of a stopped generation: three tokens of a GPU. One that takes longer
ends by itself meanwhile, and is looked after before the next generation."""


JOBS = "_job"
"""In the name of every thread that CosyVoice starts: Python names a thread by its function, `llm_job`
and `vc_job` here."""

_END = object()


class Stopped(Exception):
    """Raised inside the model to leave a computation whose result nobody wants."""


class Turns:
    """
    The generations of one model, one at a time.

    Args:
        inner: the model's `model`, which holds the dicts.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._lock = getattr(inner, "lock", None) or nullcontext()
        self._stopping = False
        self._dropped: set[str] = set()
        self._lingering: list[threading.Thread] = []
        self._hook = threading.excepthook
        threading.excepthook = self._on_thread_exception
        self._interrupt_flow()

    def run(
        self, start: Callable[[], Iterable[Any]], wanted: Callable[[], bool]
    ) -> Iterator[tuple[Optional[str], Any]]:
        """
        What `start()` generates, each with the uuid of its sentence (None: the model does not say);
        ends early once `wanted()` is false, which is asked from another thread while the model computes.

        Raises:
            Refused: the model rejected the text before it computed anything; it is well.
            Exception: anything else means that it can no longer be trusted.
        """
        self._sweep()
        before, threads = self._uuids(), set(threading.enumerate())
        self._stopping = False
        watch = _Watch(wanted, lambda: self._drop(before))
        generator = iter(start())
        try:
            with watch:
                while True:
                    with watch.computing():
                        output = next(generator, _END)
                    if output is _END:
                        return
                    new = self._uuids() - before
                    yield next(iter(new), None), output
                    if watch.unwanted:
                        return
        except (Stopped, KeyError) as error:
            if not (watch.unwanted and _is_of(error, self._dropped)):
                raise self._judged(error, before) from error
        except Exception as error:
            raise self._judged(error, before) from error
        finally:
            with suppress(Exception):
                generator.close()  # type: ignore[attr-defined]
            self._drop(before)
            self._await(set(threading.enumerate()) - threads)

    def _judged(self, error: Exception, before: set[str]) -> Exception:
        """`error` itself, or as `Refused` if it came from the front end, before any generation."""
        harmless = isinstance(error, (KeyError, IndexError, ValueError, AssertionError, TypeError))
        return Refused(error) if harmless and not self._uuids() - before else error

    # -- the model's state ----------------------------------------------------------------

    def _dicts(self) -> list[dict[str, Any]]:
        """The dicts that hold an entry for each generation."""
        named = vars(self._inner).items() if hasattr(self._inner, "__dict__") else ()
        return [value for name, value in named if name.endswith("_dict") and isinstance(value, dict)]

    def _uuids(self) -> set[str]:
        with self._lock:
            return {uuid for entries in self._dicts() for uuid in entries}

    def _drop(self, before: set[str]) -> None:
        """Take away the entries of every generation that is not in `before`."""
        new = self._uuids() - before
        if not new:
            return
        self._stopping = True
        self._dropped |= new
        with self._lock:
            for entries in self._dicts():
                for uuid in new:
                    entries.pop(uuid, None)
        self._abort(new)

    def _abort(self, uuids: set[str]) -> None:
        """Tell vLLM too, where it makes the tokens: its requests know no dict."""
        llm = getattr(self._inner, "llm", None)
        vllm = getattr(llm, "vllm", None)
        if vllm is None:
            return
        with getattr(llm, "lock", None) or nullcontext():
            with suppress(Exception):  # it may have finished by itself
                vllm.abort_request(list(uuids))
            for uuid in uuids:
                getattr(llm, "vllm_output_queue", {}).pop(uuid, None)

    def _interrupt_flow(self) -> None:
        """Leave the flow between two of its ten steps: on a CPU all ten take a second."""
        decoder = getattr(getattr(self._inner, "flow", None), "decoder", None)
        register = getattr(getattr(decoder, "estimator", None), "register_forward_pre_hook", None)
        if register is not None:
            register(self._check)

    def _check(self, *_: Any) -> None:
        if self._stopping:
            raise Stopped

    # -- its threads ----------------------------------------------------------------------

    def _await(self, threads: set[threading.Thread]) -> None:
        """Wait a little for the threads that a generation started."""
        self._lingering += [thread for thread in threads if JOBS in thread.name]
        deadline = time.monotonic() + JOIN_S
        for thread in self._lingering:
            thread.join(max(deadline - time.monotonic(), 0))
        self._sweep()

    def _sweep(self) -> None:
        """Forget what has ended by now; a thread's last act may have been to write its entry again."""
        self._lingering = [thread for thread in self._lingering if thread.is_alive()]
        with self._lock:
            for entries in self._dicts():
                for uuid in self._dropped:
                    entries.pop(uuid, None)
        if not self._lingering:
            self._dropped.clear()

    def _on_thread_exception(self, arguments: Any) -> None:
        """A thread that ends because we took its entries away is no fault; every other one is."""
        if not _is_of(arguments.exc_value, self._dropped):
            self._hook(arguments)


class Refused(Exception):
    """The model rejected a text; the message says what it said."""

    def __init__(self, error: Exception) -> None:
        words = " ".join(str(error).split())
        super().__init__(f"{type(error).__name__}: {words}" if words else type(error).__name__)


def _is_of(error: Any, uuids: set[str]) -> bool:
    if isinstance(error, Stopped):
        return True
    return isinstance(error, KeyError) and bool(error.args) and error.args[0] in uuids


class _Watch:
    """Asks `wanted` every `POLL_S` from a thread of its own, but only inside `computing`."""

    def __init__(self, wanted: Callable[[], bool], stop: Callable[[], None]) -> None:
        self._wanted = wanted
        self._stop = stop
        self._over = threading.Event()
        self._turn = threading.Lock()
        self._thread = threading.Thread(target=self._look, name="watch", daemon=True)
        self.unwanted = False

    def __enter__(self) -> _Watch:
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
