"""
A streaming text-to-speech server whose audio survives bad networks.

This package imports nothing on its own: an engine worker under another interpreter
loads `abr_tts.engine.worker` with numpy and msgpack alone.
"""

__version__ = "0.1.0"
