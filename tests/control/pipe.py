"""A link in virtual time for estimators: first in, first out, with a listener's reports and a kernel."""

from collections import deque
from collections.abc import Callable

from abr_tts.control.estimator import Estimator
from abr_tts.control.ladder import wire_bytes

STEP_S = 0.005
PROMPT_S, PROMPT_BYTES, CHANGED_S = 0.1, 2_000, 0.25
KERNEL_S = 0.1


class Pipe:
    """
    Carries messages and tells an estimator of them, by the ways that it is given.

    Args:
        kbps: the capacity at a second.
        reports: the listener reports.
        kernel: the sender's kernel is looked at.
        proxied: a proxy takes everything at once, so that the kernel has nothing to tell.
    """

    def __init__(
        self,
        estimator: Estimator,
        kbps: Callable[[float], float],
        rtt_s: float = 0.06,
        *,
        reports: bool = True,
        kernel: bool = True,
        proxied: bool = False,
    ) -> None:
        self.estimator, self._kbps, self._rtt = estimator, kbps, rtt_s
        self._reports, self._kernel, self._proxied = reports, kernel, proxied
        self.now = 0.0
        self.sent = self.arrived = 0
        self._queue: deque[list[float]] = deque()
        self._flying: deque[tuple[float, int]] = deque()
        self._coming: deque[tuple[float, int]] = deque()
        self._acking: deque[tuple[float, int]] = deque()
        self._acked = 0
        self._told, self._told_at, self._looked_at = 0, 0.0, 0.0

    @property
    def outstanding(self) -> int:
        """Bytes sent and not acknowledged, by what the estimator can know."""
        return self.sent - (self._told_total if self._reports else self._acked)

    _told_total = 0

    def send(self, size: int, own: bool = True) -> None:
        """A message goes out."""
        self.sent += size
        self._queue.append([wire_bytes(size), size])
        self.estimator.on_sent(size, own, self.now)

    def run(self, until: float, sender: Callable[["Pipe"], None] = lambda pipe: None) -> None:
        """Let time pass; `sender` is asked at each step."""
        while self.now < until:
            sender(self)
            self.now += STEP_S
            self._carry()
            self._tell()

    def _carry(self) -> None:
        room = self._kbps(self.now) * 125 * STEP_S
        while self._queue and room > 0:
            used = min(room, self._queue[0][0])
            self._queue[0][0] -= used
            room -= used
            if self._queue[0][0] <= 0:
                self._flying.append((self.now + self._rtt / 2, int(self._queue.popleft()[1])))
        while self._flying and self._flying[0][0] <= self.now:
            self.arrived += self._flying.popleft()[1]
            self._acking.append((self.now + self._rtt / 2, self.arrived))
        while self._acking and self._acking[0][0] <= self.now:
            self._acked = self._acking.popleft()[1]

    def _tell(self) -> None:
        news, waited = self.arrived - self._told, self.now - self._told_at
        if (news >= PROMPT_BYTES and waited >= PROMPT_S) or waited >= CHANGED_S:
            self._told, self._told_at = self.arrived, self.now
            self._coming.append((self.now + self._rtt / 2, self.arrived))
        while self._coming and self._coming[0][0] <= self.now:
            self._told_total = self._coming.popleft()[1]
            if self._reports:
                self.estimator.on_received(self._told_total, self._rtt * 1000, self.now)
        if self._kernel and self.now - self._looked_at >= KERNEL_S:
            self._looked_at = self.now
            queued = 0 if self._proxied else self.sent - self._acked
            self.estimator.on_kernel(queued, 0.1 if self._proxied else self._rtt * 1000, self.now)


def saturate(size: int = 1_000, most: int = 20_000) -> Callable[[Pipe], None]:
    """A sender that always has something to send, and lets `most` bytes be on the way."""

    def sender(pipe: Pipe) -> None:
        while pipe.outstanding < most:
            pipe.send(size)

    return sender


def trickle(size: int, every_s: float) -> Callable[[Pipe], None]:
    """A sender with a message of `size` every so often: an engine that is the limit."""
    due = [0.0]

    def sender(pipe: Pipe) -> None:
        if pipe.now >= due[0]:
            due[0] = pipe.now + every_s
            pipe.send(size)

    return sender
