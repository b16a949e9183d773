"""
Neural voices that come whole from the package index: small ONNX models on the CPU, each an engine.

`hibari` speaks English, `kokoro` Mandarin with English words in it, `both` gives each run of a
text to the one that reads it, `piper` any voice of Piper's. No file is fetched when they run,
and none is left behind.
"""
