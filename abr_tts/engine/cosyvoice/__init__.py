"""
CosyVoice, CosyVoice2 and CosyVoice3 as an engine: the classes of FunAudioLLM's own package, guarded.

`adapter` is the engine; `loading` finds and builds the model, `variant` knows what its versions want
differently, `prompts` holds the voices that it copies, `turns` runs one generation and can stop it,
`guards` smooths a sentence's edges. Runs in a worker, under the interpreter that has CosyVoice.
"""

from .adapter import CosyVoice

__all__ = ["CosyVoice"]
