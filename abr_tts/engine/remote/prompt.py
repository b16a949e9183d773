"""
Where CosyVoice wants "<|endofprompt|>": facts of its `example.py` and `llm.py` (Apache-2.0).

Version 3 refuses any prompt without it, and expects the words of an assistant before it; versions 1
and 2 want it at the end of an instruction only. Pure.
"""

from __future__ import annotations

from .options import Options

END = "<|endofprompt|>"
"""The token that parts how to speak from what to speak."""

ASSISTANT = "You are a helpful assistant."
"""How version 3 was trained to be addressed."""


def instruction(words: str, options: Options) -> str:
    """An instruction as the model's frontend wants it."""
    if END in words or not options.end_of_prompt:
        return words
    return f"{ASSISTANT} {words}{END}" if options.generation == 3 else f"{words}{END}"


def transcript(words: str, options: Options) -> str:
    """What is said in a clip."""
    return prefixed(words, options)


def prefixed(words: str, options: Options) -> str:
    """Words that stand where version 3 looks for the end of the prompt."""
    if options.generation != 3 or not options.end_of_prompt or END in words:
        return words
    return f"{ASSISTANT}{END}{words}"
