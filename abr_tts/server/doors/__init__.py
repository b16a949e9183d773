"""
What the doors for other protocols share: who comes in, what a request gets, one speech on its way out, its
format, and a socket that is given little. Behind them stands the core of the native door.
"""
