"""
The protocol of one connection without its socket: messages and `now` in; events, messages and the next timer
out. One task at a time, and after it another.

    machine.receive(data, now)             # never raises: what is wrong becomes task-failed and a close
    for event in machine.events(): ...     # what is to be done, taken once
    for message in machine.messages(): ... # what is to be written, always after any call
    timer = machine.get_timer()            # machine.handle_timer(now) when it is due
"""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import (
    AbrError,
    IdleTimeout,
    MessageTooBig,
    RateLimited,
    ShuttingDown,
    TextAfterEnd,
    TextTooLong,
    WrongState,
)
from ..load.quotas import Bucket
from . import messages as m
from .asked import asked, check_plain
from .characters import count
from .codec import Unreadable, read, write
from .events import Begin, EndText, Event, Failed, Flush, Limits, Message, Say, Stop
from .faults import code_of
from .result import Result

IDLE, RUNNING, FINISHING, CLOSED = "idle", "running", "finishing", "closed"
"""No task; text may come; all text is here and speech is not all sent; nothing more is read or written."""

RUN, MORE, FINISH, CANCEL = "run", "more", "finish", "cancel"
"""What a client says: a new task, and of the one that runs or ran last more text, its end, its end now."""

BEGIN, PASS, IGNORE, ABORT, LATE = "begin", "pass", "ignore", "abort", "late"
"""Begin it; hand it on; it crossed the task's end or changes nothing; end the task that runs, and begin;
text after the end of the text."""

NEXT = {  # state: {signal: (state, verdict)}
    IDLE: {RUN: (RUNNING, BEGIN), MORE: (IDLE, IGNORE), FINISH: (IDLE, IGNORE), CANCEL: (IDLE, IGNORE)},
    RUNNING: {RUN: (RUNNING, ABORT), MORE: (RUNNING, PASS), FINISH: (FINISHING, PASS), CANCEL: (IDLE, PASS)},
    FINISHING: {
        RUN: (RUNNING, ABORT),
        MORE: (CLOSED, LATE),
        FINISH: (FINISHING, IGNORE),
        CANCEL: (IDLE, PASS),
    },
    CLOSED: dict.fromkeys((RUN, MORE, FINISH, CANCEL), (CLOSED, IGNORE)),
}

HEAD_CHARS = 256
"""Characters of a text that are looked at to see whether it is SSML: white space and a tag."""


class Machine:
    """
    Args:
        limits: see there.
        voices: name that clients use → name of ours.
        now: seconds on any monotonic clock, as everywhere below.
    """

    def __init__(self, limits: Limits, voices: Mapping[str, str], now: float) -> None:
        self._limits, self._voices = limits, voices
        self.state = IDLE
        self.close_code: int | None = None
        """Set once it is over: what to close with, after the last message."""
        self.close_reason = ""
        self._bucket = Bucket(limits.messages_per_s, limits.message_burst, now)
        self._result = Result("")  # of the task that runs, or ran last
        self._aborted = ""
        self._ssml = self._going = False
        self._since = now  # there is no task, or there was text
        self._events: list[Event] = []
        self._messages: list[Message] = []

    @property
    def busy(self) -> bool:
        """Whether a task runs."""
        return self.state in (RUNNING, FINISHING)

    # ------------------------------------------------------------ from the client

    def receive(self, data: str | bytes, now: float) -> None:
        """One message of the client."""
        if self.state == CLOSED:
            return
        try:
            self._measure(data, now)
            action = read(data)
        except Unreadable as fault:
            self.fail(fault.error, fault.task_id or self._result.task_id)
            return
        except AbrError as error:
            self.fail(error)
            return
        try:
            self._take(action, now)
        except AbrError as error:
            self.fail(error, action.header.task_id)

    def _measure(self, data: str | bytes, now: float) -> None:
        rate, most = self._limits.messages_per_s, self._limits.message_bytes
        if self._bucket.wait_s(1, now):
            raise RateLimited(f"more than {rate:g} messages a second", limit=rate)
        self._bucket.take(1, now)
        size = len(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
        if size > most:
            raise MessageTooBig(f"a message of {size} bytes; {most} are allowed", limit=most)

    def _take(self, action: m.Action, now: float) -> None:
        signal, task_id = _signal(action), action.header.task_id
        if signal != RUN and task_id != self._result.task_id:
            if task_id == self._aborted:
                return
            raise WrongState("no task of this id runs on this connection")
        state, verdict = NEXT[self.state][signal]
        if verdict == LATE:
            raise TextAfterEnd("text after the finish-task of its task")
        if isinstance(action, m.RunTask):
            self._run(action, now)
        elif verdict == PASS:
            self._go_on(action, state, now)
        self._move(state)

    def _run(self, request: m.RunTask, now: float) -> None:
        wanted, result = asked(request, self._voices), Result(request.header.task_id)
        self._check(wanted.text, result, wanted.ssml)
        if self.busy:
            # In silence: the SDK does not look whose end an event tells, and would end the new task.
            self._events.append(Stop("aborted"))
            self._aborted = self._result.task_id
        self._result, self._ssml, self._since = result, wanted.ssml, now
        self._events.append(Begin(wanted))
        self._say(wanted.text)

    def _go_on(self, action: m.ContinueTask | m.FinishTask, state: str, now: float) -> None:
        if isinstance(action, m.ContinueTask):
            self._since = now
            self._check(action.payload.input.text or "", self._result, self._ssml)
            self._say(action.payload.input.text or "")
            if action.payload.input.flush:
                self._events.append(Flush())
        elif state == IDLE:
            self._events.append(Stop("cancelled"))
            self._finish(now)
        else:
            self._events.append(EndText())

    def _check(self, text: str, result: Result, ssml: bool) -> None:
        limits, size, so_far = self._limits, count(text), result.heard.characters
        for most, total, name, where in (
            (limits.continue_chars, size, "continue_chars", "in one message"),
            (limits.task_chars, so_far + size, "task_chars", "in one task"),
        ):
            if total > most:
                raise TextTooLong(f"{total} characters {where}; {most} are allowed", limit=most, name=name)
        if ssml and so_far < HEAD_CHARS:
            check_plain(result.heard.part(0, HEAD_CHARS) + text[:HEAD_CHARS])

    def _say(self, text: str) -> None:
        if text:
            self._result.heard.add(text)
            self._events.append(Say(text))

    # ------------------------------------------------------------ from the server

    def started(self) -> None:
        """The task that `Begin` asked for is taken."""
        self._messages.append(Message(write(m.TaskStarted(m.StartedHeader(self._result.task_id)))))

    def sentence(self, begin: int, end: int) -> None:
        """The sentence text[begin:end], in code points, begins to sound; the one before has sounded."""
        self._messages += self._result.sentence(begin, end)

    def audio(self, data: bytes) -> None:
        """Part of the task's audio, at least one byte."""
        self._messages.append(self._result.audio(data))

    def finish(self, now: float) -> None:
        """All is spoken, and has been handed to `audio`."""
        self._messages += self._result.end_sentence()
        self._finish(now)
        self._move(IDLE)

    def fail(self, error: AbrError, task_id: str | None = None) -> None:
        """Tell the client of a fault, and close: of the task that runs, or of what a message named."""
        if self.state == CLOSED:
            return
        failed = self._result.task_id if task_id is None else task_id
        self._messages.append(
            Message(write(m.TaskFailed(m.FailedHeader(failed, code_of(error), error.message))))
        )
        self._end(error)

    def go_away(self) -> None:
        """The server stops soon: close as soon as no task runs."""
        self._going = True
        if self.state == IDLE:
            self.shut()

    def shut(self, error: AbrError | None = None) -> None:
        """
        The connection ends now: the server stops, or what `error` says. A task fails, for its client would
        wait for ever at a mere close.
        """
        error = error or ShuttingDown("the server is stopping; connect again")
        if self.busy:
            self.fail(error)
        elif self.state == IDLE:
            self._close(error)

    # ------------------------------------------------------------ time

    def get_timer(self) -> float | None:
        """When to call `handle_timer`; None: there is nothing to wait for."""
        return min((at for at, _ in self._dues()), default=None)

    def handle_timer(self, now: float) -> None:
        """It is so late."""
        for at, error in self._dues():
            if now >= at and self.busy:
                self.fail(error)
            elif now >= at:
                self._end(error)

    def _dues(self) -> list[tuple[float, IdleTimeout]]:
        limits = self._limits
        dues = []
        if self.state == IDLE:
            words = f"{limits.idle_s:g} seconds without a task"
            dues.append((self._since + limits.idle_s, IdleTimeout(words, name="idle_s")))
        if self.state == RUNNING:
            words = f"request timeout after {limits.text_wait_s:g} seconds"
            dues.append((self._since + limits.text_wait_s, IdleTimeout(words, name="text_wait_s")))
        return dues

    # ------------------------------------------------------------ what comes of it

    def events(self) -> list[Event]:
        """What has happened since the last time."""
        events, self._events = self._events, []
        return events

    def messages(self) -> list[Message]:
        """What is to be written since the last time."""
        messages, self._messages = self._messages, []
        return messages

    # ------------------------------------------------------------ inside

    def _move(self, state: str) -> None:
        self.state = state
        if self._going and state == IDLE:
            self.shut()

    def _finish(self, now: float) -> None:
        self._messages.append(self._result.finished())
        self._since = now

    def _end(self, error: AbrError) -> None:
        if self.busy:
            self._events.append(Stop(error.code))
        self._events.append(Failed(error))
        self._close(error)

    def _close(self, error: AbrError) -> None:
        self.state, self.close_code, self.close_reason = CLOSED, error.close, error.message


def _signal(action: m.Action) -> str:
    if isinstance(action, m.RunTask):
        return RUN
    if isinstance(action, m.ContinueTask):
        return MORE
    return CANCEL if action.payload.input.directive else FINISH
