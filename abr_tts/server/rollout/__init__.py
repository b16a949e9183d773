"""
Which policy a stream gets: files that are read again, canaries, roll-backs.
"""
