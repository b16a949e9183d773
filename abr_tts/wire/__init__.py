"""The wire contract in Python: records, codec, and a connection without I/O. Knows no sound."""
