"""What a client says, as JSON; and a machine that is driven by hand, with its time as an argument."""

import json

from abr_tts.server.dashscope.events import Limits
from abr_tts.server.dashscope.machine import Machine

TASK, OTHER = "2bf83b9a-baeb-4fda-8d9a-000000000001", "2bf83b9a-baeb-4fda-8d9a-000000000002"


def run(task_id: str = TASK, *, text: str | None = None, **parameters) -> str:
    """A run-task as the Python SDK writes it; a parameter that is None is left out."""
    wanted = {"voice": "tone", "volume": 50, "text_type": "PlainText", "sample_rate": 22050, "rate": 1.0,
              "format": "pcm", "pitch": 1.0, "seed": 0, "type": 0} | parameters  # fmt: skip
    return json.dumps(
        {
            "header": {"action": "run-task", "task_id": task_id, "streaming": "duplex"},
            "payload": {
                "model": "cosyvoice-v3",
                "task_group": "audio",
                "task": "tts",
                "function": "SpeechSynthesizer",
                "input": {} if text is None else {"text": text},
                "parameters": {name: value for name, value in wanted.items() if value is not None},
            },
        }
    )


def go_on(text: str | None = None, task_id: str = TASK, **more) -> str:
    """A continue-task."""
    given = ({} if text is None else {"text": text}) | more
    return json.dumps(
        {
            "header": {"action": "continue-task", "task_id": task_id, "streaming": "duplex"},
            "payload": {"model": "cosyvoice-v3", "input": given},
        }
    )


def finish(task_id: str = TASK, directive: str | None = None) -> str:
    """A finish-task."""
    given = {} if directive is None else {"directive": directive}
    return json.dumps(
        {
            "header": {"action": "finish-task", "task_id": task_id, "streaming": "duplex"},
            "payload": {"input": given},
        }
    )


class Driven:
    """A machine, and all that it has said so far."""

    def __init__(self, now: float = 0.0, voices=None, **limits) -> None:
        self.machine = Machine(Limits(**limits), voices or {}, now)
        self.now = now
        self.events, self.told, self.audio = [], [], []

    def take(self) -> "Driven":
        self.events += self.machine.events()
        for message in self.machine.messages():
            self.told.append(json.loads(message.text))
            self.audio.append(message.audio)
        return self

    def send(self, *messages: str | bytes, at: float | None = None) -> "Driven":
        self.now = self.now if at is None else at
        for message in messages:
            self.machine.receive(message, self.now)
        return self.take()

    def running(self, **parameters) -> "Driven":
        """With a task that has started."""
        self.send(run(**parameters))
        self.machine.started()
        return self.take()

    def due(self) -> "Driven":
        """The moment of its timer."""
        self.now = self.machine.get_timer()
        self.machine.handle_timer(self.now)
        return self.take()

    @property
    def names(self) -> list[str]:
        return [told["header"]["event"] for told in self.told]

    @property
    def failure(self) -> tuple[str, str]:
        """Code and words of the task-failed that ends what was told."""
        header = self.told[-1]["header"]
        assert header["event"] == "task-failed"
        return header["error_code"], header["error_message"]
