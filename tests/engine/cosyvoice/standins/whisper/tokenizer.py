"""A tokenizer around a tiktoken encoding."""

from dataclasses import dataclass
from typing import Any


@dataclass
class Tokenizer:
    encoding: Any
    num_languages: int = 99
    language: str | None = None
    task: str | None = None

    def encode(self, text, **more):
        return self.encoding.encode(text, **more)
