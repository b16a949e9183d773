"""
Generations of a model that knows no cancel: run one, watch whether anybody listens, stop it whole.

CosyVoice computes speech tokens in a thread of its own and keeps what belongs to a generation under
its uuid in several dicts. A generator that is closed half-way leaves them behind, and the thread
runs on. Without its entries the thread ends at its next token, by a KeyError of that uuid, and so
does whoever waits for it; the model stays usable.

Several may run at once, each in a thread of the caller's: what a generation owns is known by the thread
that made the entry of its uuid (`tables`), so that stopping one leaves the others alone.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from typing import Any, Optional

from .tables import Table, tables_of
from .watch import Watch

JOIN_S = 0.05
"""How long to wait for the thread of a stopped generation: three tokens of a GPU. One that takes longer
ends by itself meanwhile."""

JOBS = "_job"
"""Ends the name of every function that CosyVoice starts in a thread: `llm_job` and `vc_job`."""

REMEMBERED = 1024
"""uuids of stopped generations that are still known as such when a thread of theirs looks for its entry,
a token later. Chosen here, far beyond what can be stopped meanwhile; 100 kB."""

_END = object()


class Stopped(Exception):
    """Raised inside the model to leave a computation whose result nobody wants."""


class _Turn:
    """One generation: the uuids of its sentences, the threads of its tokens, whether it is to end."""

    def __init__(self) -> None:
        self.uuids: set[str] = set()
        self.jobs: list[threading.Thread] = []
        self.stopping = False


class Turns:
    """
    The generations of one model, at most one in each thread.

    Args:
        inner: the model's `model`, which holds the dicts. They are replaced by `Table`s, and its jobs
            by ones that end in silence when they were stopped.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._lock = getattr(inner, "lock", None) or threading.Lock()
        self._running: dict[int, _Turn] = {}
        self._owners: dict[str, _Turn] = {}
        self._stopped: OrderedDict[str, None] = OrderedDict()
        self._tables: list[Table] = tables_of(inner, self._admits)
        for name in [name for name in dir(inner) if name.endswith(JOBS)]:
            setattr(inner, name, self._guarded(getattr(inner, name)))
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
        thread = threading.get_ident()
        turn = self._running[thread] = _Turn()
        generator: Iterator[Any] = iter(())
        watch = Watch(wanted, lambda: self._drop(turn))
        try:
            generator = iter(start())
            with watch:
                while True:
                    with watch.computing():
                        output = next(generator, _END)
                    if output is _END:
                        return
                    yield next(iter(self._live(turn)), None), output
                    if watch.unwanted:
                        return
        except (Stopped, KeyError) as error:
            if not (watch.unwanted and self._was_stopped(error)):
                raise self._judged(error, turn) from error
        except Exception as error:
            raise self._judged(error, turn) from error
        finally:
            with suppress(Exception):
                generator.close()  # type: ignore[attr-defined]
            self._drop(turn)
            _await(turn.jobs)
            del self._running[thread]
            for uuid in turn.uuids:
                del self._owners[uuid]

    def _judged(self, error: Exception, turn: _Turn) -> Exception:
        """`error` itself, or as `Refused` if it came from the front end, before any generation."""
        harmless = isinstance(error, (KeyError, IndexError, ValueError, AssertionError, TypeError))
        return Refused(error) if harmless and not self._live(turn) else error

    # -- the model's state ----------------------------------------------------------------

    def _admits(self, uuid: str) -> bool:
        """A new entry is about to be made: by its generation's thread, or late, by a job that was stopped."""
        if uuid in self._stopped:
            return False
        turn = self._running.get(threading.get_ident())
        if turn is not None:
            turn.uuids.add(uuid)
            self._owners[uuid] = turn
        return True

    def _live(self, turn: _Turn) -> set[str]:
        """The uuids of `turn` that have an entry."""
        with self._lock:
            return {uuid for table in self._tables for uuid in table if uuid in turn.uuids}

    def _drop(self, turn: _Turn) -> None:
        """Take away the entries of a generation, if it has any."""
        live = self._live(turn)
        if not live:
            return
        turn.stopping = True
        with self._lock:
            self._stopped.update(dict.fromkeys(live))
            while len(self._stopped) > REMEMBERED:
                self._stopped.popitem(last=False)
            for table in self._tables:
                for uuid in live:
                    table.pop(uuid, None)
        self._abort(live)

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
        turn = self._running.get(threading.get_ident())
        if turn is not None and turn.stopping:
            raise Stopped

    # -- its threads ----------------------------------------------------------------------

    def _guarded(self, job: Callable[..., None]) -> Callable[..., None]:
        """
        `job`, for which its generation can wait. One that ends because we took its entries away is no
        fault; every other exception is one, and goes on to the thread's end.
        """

        @functools.wraps(job)  # a thread is named by its function
        def guarded(*arguments: Any, **named: Any) -> None:
            words = [word for word in (*arguments, *named.values()) if isinstance(word, str)]
            for turn in filter(None, map(self._owners.get, words)):
                turn.jobs.append(threading.current_thread())
            try:
                job(*arguments, **named)
            except (Stopped, KeyError) as error:
                if not self._was_stopped(error):
                    raise

        return guarded

    def _was_stopped(self, error: Exception) -> bool:
        """Whether an error comes of our having stopped what raised it."""
        return isinstance(error, Stopped) or (bool(error.args) and error.args[0] in self._stopped)


class Refused(Exception):
    """The model rejected a text; the message says what it said."""

    def __init__(self, error: Exception) -> None:
        words = " ".join(str(error).split())
        super().__init__(f"{type(error).__name__}: {words}" if words else type(error).__name__)


def _await(jobs: list[threading.Thread]) -> None:
    """Wait a little for the threads of a generation."""
    deadline = time.monotonic() + JOIN_S
    for job in jobs:
        job.join(max(deadline - time.monotonic(), 0))
