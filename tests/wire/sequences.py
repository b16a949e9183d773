"""Plays a vector of protocol/vectors/connection.json against a connection; README.md there is the key."""

from typing import Any

from abr_tts import errors
from abr_tts.wire import codec
from abr_tts.wire.connection import Connection, Failed, Received
from abr_tts.wire.limits import Limits
from abr_tts.wire.messages import Hello, Welcome

from .meaning import bytes_of, meaning_of, name_of, record_of

CODES = {error.code: error for error in vars(errors).values() if hasattr(error, "code")}


def counted(value: Any, turn: int) -> Any:
    """A step with the marks of a repetition replaced: {n} in strings, {#} and {#+1} as integers."""
    if isinstance(value, str):
        numbers = {"{#}": turn, "{#+1}": turn + 1}
        return numbers.get(value, value.replace("{n}", f"{turn:012}"))
    if isinstance(value, list):
        return [counted(item, turn) for item in value]
    if isinstance(value, dict):
        return {key: counted(item, turn) for key, item in value.items()}
    return value


def told(event: Received | Failed) -> dict[str, Any]:
    """An event as the vectors write it."""
    if isinstance(event, Failed):
        return {"failed": event.error.code, "stream_id": event.stream_id, "scope": event.scope}
    return {"received": name_of(event.message), "stream_id": event.stream_id}


class Player:
    """One side under test, and what it is expected to do next."""

    def __init__(self, vector: dict[str, Any]) -> None:
        self.role = vector["role"]
        self.other = "client" if self.role == "server" else "server"
        self.connection = Connection(self.role, 0, Limits(**vector.get("limits", {})))
        if vector.get("greeted", True):
            self._greet()

    def _greet(self) -> None:
        if self.role == "client":
            self.connection.send(Hello())
        first = Hello() if self.role == "server" else Welcome(1, "s")
        self.connection.receive(codec.encode(first), 0)
        self.connection.events_received(), self.connection.data_to_send()

    def play(self, steps: list[dict[str, Any]]) -> None:
        """Do every step and compare what it did."""
        for step in steps:
            if "repeat" in step:
                for turn in range(1, step["repeat"] + 1):
                    self.play(counted(step["steps"], turn))
            else:
                self._step(step)

    def _step(self, step: dict[str, Any]) -> None:
        said = list(step.get("out", []))
        if "send" in step and not step.get("dropped") and not step.get("refused"):
            said.append(step["send"])
        refused = self._do(step)
        assert refused == step.get("refused"), step
        assert [told(event) for event in self.connection.events_received()] == step.get("events", []), step
        out = [meaning_of(codec.decode(data, self.role)) for data in self.connection.data_to_send()]
        assert len(out) == len(said), (step, out)
        for message, expected in zip(out, said, strict=True):
            assert message == {**message, **expected}, step
        if "closed" in step:
            assert (self.connection.closed, self.connection.close_code) == (True, step["closed"]), step

    def _do(self, step: dict[str, Any]) -> str | None:
        """The one thing that a step does. The code of the error, if it was refused."""
        try:
            self._act(step)
        except errors.AbrError as error:
            return error.code
        return None

    def _act(self, step: dict[str, Any]) -> None:
        connection = self.connection
        if "receive" in step:
            connection.receive(codec.encode(record_of(step["receive"])), step["at"])
        elif "receive_hex" in step:
            connection.receive(bytes.fromhex(step["receive_hex"]), step["at"])
        elif "receive_parts" in step:
            connection.receive(bytes_of({"parts": step["receive_parts"]}), step["at"])
        elif "receive_text" in step:
            connection.receive(step["receive_text"], step["at"])
        elif "now" in step:
            connection.handle_timer(step["now"])
        elif "due" in step:
            assert connection.get_timer() == step["due"]
        elif "rtt_ms" in step:
            assert abs(connection.rtt_ms - step["rtt_ms"]) < 0.001
        elif "send" in step:
            assert (connection.send(record_of(step["send"])) == 0) == step.get("dropped", False)
        elif "ping" in step:
            connection.ping(step["ping"])
        elif "start" in step:
            self._start(step)
        elif "release" in step:
            connection.release(step["release"])
        else:
            connection.fail(CODES[step["fail"]]("by the vector"), step["stream_id"])

    def _start(self, step: dict[str, Any]) -> None:
        more, chars = step.get("more_text"), step.get("chars", 0)
        assert self.connection.start_stream(step["start"], more_text=more, chars=chars) == step["handle"]
