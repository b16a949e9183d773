"""
What one task has said and got so far: its text, its sentences, what it has cost; and the events that tell it.
"""

from __future__ import annotations

from . import messages as m
from .characters import Heard, count
from .codec import write
from .events import Message


class Result:
    """
    Args:
        task_id: the task's.
    """

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        self.heard = Heard()
        self._index = 0
        self._open: str | None = None  # the text of the sentence that sounds
        self._spoken = 0  # characters of the text up to its end

    def sentence(self, begin: int, end: int) -> list[Message]:
        """text[begin:end] begins to sound, in code points; what sounded before has ended."""
        ended = self.end_sentence()
        text = self.heard.part(begin, end)
        self._open = text
        self._spoken += count(text)
        return [*ended, self._message("sentence-begin", text)]

    def audio(self, data: bytes) -> Message:
        """Part of the sound."""
        return self._message("sentence-synthesis", audio=data)

    def end_sentence(self) -> list[Message]:
        """The sentence that sounds, if any, has ended."""
        if self._open is None:
            return []
        ended = self._message("sentence-end", self._open, m.Usage(self._spoken))
        self._open, self._index = None, self._index + 1
        return [ended]

    def finished(self) -> Message:
        """The task is over. It has cost what was sent to be spoken."""
        usage = m.Usage(self.heard.characters)
        return Message(write(m.TaskFinished(m.FinishedHeader(self.task_id), m.FinishedPayload(usage))))

    def _message(
        self, kind: m.Kind, text: str | None = None, usage: m.Usage | None = None, audio: bytes | None = None
    ) -> Message:
        sentence = m.Sentence(self._index)
        output = m.Output(kind, sentence) if text is None else m.Output(kind, sentence, text)
        payload = m.ResultPayload(output) if usage is None else m.ResultPayload(output, usage)
        return Message(write(m.ResultGenerated(m.ResultHeader(self.task_id), payload)), audio)
